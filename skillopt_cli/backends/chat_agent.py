"""A chat model as an agent: the skill is part of the system message."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Self

from skillopt_cli.core.episode import Opened
from skillopt_cli.core.errors import RequestRefused, TransientError
from skillopt_cli.core.skill import SkillDocument, taught_text
from skillopt_cli.core.task import (
    CUT_SHORT,
    NO_ANSWER,
    Attempt,
    Brief,
    ChatReply,
    ChatRequest,
    Ending,
    Message,
    Usage,
)
from skillopt_cli.ports import ChatBackend, Executor, lifetime

RENDERING = "chat_agent/1"
"""Changes whenever the same brief and skill would be worded differently."""


class ChatAgent:
    """An `AgentBackend` that attempts a brief in turns with a chat model.

    Without an episode the first reply is the answer. With one, tool calls and replies are passed to
    the episode until it, or `Brief.max_turns`, ends the attempt.
    As an async context manager it opens and closes the chat backend if that is one.
    """

    def __init__(self, chat: ChatBackend) -> None:
        self.name = chat.name
        self.fingerprint = f"{RENDERING} {chat.fingerprint}"
        self.offers = chat.offers | {"turns"}
        self._chat = chat
        self._opened = AsyncExitStack()

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        """Attempt a brief with `skill`, whose text is sent unchanged.

        An empty answer or using up the turns is the model's own failure (`gave_up`); a failed call
        is ours (`broken`).

        Raises:
            FatalBackendError: no attempt can succeed.
            EpisodeFailed: the episode failed.
        """
        instructions, first = await _begun(brief, skill)
        visible = [first]  # what the model sees besides its instructions
        messages = [instructions, first]  # all messages of the attempt
        usage = Usage()
        growing = bool(brief.tools)  # whether the next request repeats this one
        for turn in range(brief.max_turns):
            request = ChatRequest(
                (instructions, *visible),
                stage=brief.stage,
                draw=brief.draw,
                turn=turn,
                tools=brief.tools,
                asks_thoughts="<think>" in brief.answer_format,
                shared=0,
                continues=growing and turn + 1 < brief.max_turns,
            )
            try:
                reply = await self._chat.chat(request)
            except (TransientError, RequestRefused) as error:
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                down = isinstance(error, TransientError)
                return Attempt("", tuple(messages), usage, "broken", reason, service_failed=down)
            usage += reply.usage
            message = Message("assistant", reply.text, tool_calls=reply.tool_calls)
            step = await _step(brief, reply)
            messages += [message, *step.messages]
            visible = list(step.messages) if step.afresh else [*visible, message, *step.messages]
            growing = not step.afresh
            if step.over:
                return _ended(reply, tuple(messages), usage)
        reason = f"it used up its {brief.max_turns} turns"
        return Attempt("", tuple(messages), usage, "gave_up", reason)

    async def __aenter__(self) -> Self:
        await self._opened.enter_async_context(lifetime(self._chat))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()


def render(brief: Brief, skill: SkillDocument) -> tuple[Message, Message]:
    """Return system and user message of a brief: role, skill and answer format; then the task."""
    taught = f"## Skill\n{taught_text(skill)}" if skill.text.strip() else ""
    system = "\n\n".join(part for part in (brief.role, taught, brief.answer_format) if part)
    return Message("system", system), Message("user", brief.prompt, brief.images)


async def _begun(brief: Brief, skill: SkillDocument) -> tuple[Message, Message]:
    """Return the first two messages, with the opening of the episode."""
    instructions, task = render(brief, skill)
    episode, shown = brief.episode, ""
    # None first, since a check against a protocol is slow.
    if episode is not None and isinstance(episode, Opened):
        shown = await episode.opening()
    return instructions, replace(task, content=f"{task.content}\n\n{shown}") if shown else task


@dataclass(frozen=True, slots=True)
class _Step:
    """The consequence of a reply. `over` ends the attempt."""

    messages: tuple[Message, ...] = ()
    afresh: bool = False
    over: bool = False


async def _step(brief: Brief, reply: ChatReply) -> _Step:
    """Run a reply's tool calls, or pass its text to the episode."""
    episode = brief.episode
    if episode is None:
        return _Step(over=True)
    if not reply.tool_calls:
        response = await episode.hear(reply.text)
        if response is None:
            return _Step(over=True)
        return _Step((Message("user", response.text),), response.afresh)
    messages = []
    over = False
    for call in reply.tool_calls:
        # In order, since one call may change the result of the next.
        result = await episode.use(call)
        messages.append(Message("tool", result.text, call_id=call.id, failed=result.failed))
        over = over or result.over
    return _Step(tuple(messages), over=over)


def _ended(reply: ChatReply, messages: tuple[Message, ...], usage: Usage) -> Attempt:
    """Return the attempt that ends with a reply; one with a tool call needs no text."""
    ending: Ending = "answered" if reply.text.strip() or reply.tool_calls else "gave_up"
    if ending == "answered":
        return Attempt(reply.text, messages, usage)
    why = CUT_SHORT if reply.finish == "length" else "" if reply.text else NO_ANSWER
    return Attempt(reply.text, messages, usage, ending, why)
