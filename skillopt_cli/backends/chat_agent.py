"""A chat model as an agent: the skill in the system message, and as many turns as it takes."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from typing import Self

from skillopt_cli.core.episode import Opened
from skillopt_cli.core.errors import RequestRefused, TransientError
from skillopt_cli.core.skill import SkillDocument, taught_text
from skillopt_cli.core.task import (
    CUT_SHORT,
    Attempt,
    Brief,
    ChatReply,
    ChatRequest,
    Ending,
    Message,
    Usage,
)
from skillopt_cli.ports import ChatBackend, Executor

RENDERING = "chat_agent/1"
"""Changes whenever the same brief and skill would be put in other words."""


class ChatAgent:
    """An `AgentBackend` that attempts a brief in turns with a chat model.

    Without an episode the first reply is the answer. With one, its tools are run and its replies
    are said until the episode, or `Brief.max_turns`, ends the attempt.
    As an async context manager it opens and closes the chat backend, where that is one.
    """

    def __init__(self, chat: ChatBackend) -> None:
        self.name = chat.name
        self.fingerprint = f"{RENDERING} {chat.fingerprint}"
        self.offers = chat.offers | {"turns"}
        self._chat = chat
        self._opened = AsyncExitStack()

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        """Attempt a brief while holding `skill`, whose text is sent as it is.

        An empty answer is the model's own failure (`gave_up`), as is using up the turns; a call
        that could not be made is ours (`broken`).

        Raises:
            FatalBackendError: no attempt can succeed.
            EpisodeFailed: the task's surroundings did.
        """
        instructions, first = await _begun(brief, skill)
        talk = [first]  # what the model sees beside its instructions
        told = [instructions, first]  # what was said in all
        usage = Usage()
        for turn in range(brief.max_turns):
            request = ChatRequest(
                (instructions, *talk),
                stage=brief.stage,
                draw=brief.draw,
                turn=turn,
                tools=brief.tools,
            )
            try:
                reply = await self._chat.chat(request)
            except (TransientError, RequestRefused) as error:
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                return Attempt("", tuple(told), usage, "broken", reason)
            usage += reply.usage
            said = Message("assistant", reply.text, tool_calls=reply.tool_calls)
            step = await _answered(brief, reply)
            told += [said, *step.messages]
            talk = list(step.messages) if step.afresh else [*talk, said, *step.messages]
            if step.over:
                return _ended(reply, tuple(told), usage)
        return Attempt("", tuple(told), usage, "gave_up", f"it used up its {brief.max_turns} turns")

    async def __aenter__(self) -> Self:
        if isinstance(self._chat, AbstractAsyncContextManager):
            await self._opened.enter_async_context(self._chat)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()


def render(brief: Brief, skill: SkillDocument) -> tuple[Message, Message]:
    """System and user message for a brief: who the target is, what it was taught, how to answer."""
    taught = f"## Skill\n{taught_text(skill)}" if skill.text.strip() else ""
    system = "\n\n".join(part for part in (brief.role, taught, brief.answer_format) if part)
    return Message("system", system), Message("user", brief.prompt, brief.images)


async def _begun(brief: Brief, skill: SkillDocument) -> tuple[Message, Message]:
    """The first two messages, with what the episode shows from the start."""
    instructions, task = render(brief, skill)
    shown = await brief.episode.opening() if isinstance(brief.episode, Opened) else ""
    return instructions, replace(task, content=f"{task.content}\n\n{shown}") if shown else task


@dataclass(frozen=True, slots=True)
class _Step:
    """What a reply led to. `over` ends the attempt."""

    messages: tuple[Message, ...] = ()
    afresh: bool = False
    over: bool = False


async def _answered(brief: Brief, reply: ChatReply) -> _Step:
    """Run the tools a reply asks for, or tell the episode what it says."""
    episode = brief.episode
    if episode is None:
        return _Step(over=True)
    if not reply.tool_calls:
        heard = await episode.hear(reply.text)
        if heard is None:
            return _Step(over=True)
        return _Step((Message("user", heard.text),), heard.afresh)
    messages = []
    over = False
    for call in reply.tool_calls:
        # In order: one call may change what the next one finds.
        result = await episode.use(call)
        messages.append(Message("tool", result.text, call_id=call.id, failed=result.failed))
        over = over or result.over
    return _Step(tuple(messages), over=over)


def _ended(reply: ChatReply, told: tuple[Message, ...], usage: Usage) -> Attempt:
    """The attempt that ends with a reply. One that ends with a tool call need not say anything."""
    ending: Ending = "answered" if reply.text.strip() or reply.tool_calls else "gave_up"
    why = CUT_SHORT if ending == "gave_up" and reply.finish == "length" else ""
    return Attempt(reply.text, told, usage, ending, why)
