"""A chat model as an agent: one turn, the skill in the system message."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Self

from skillopt_cli.core.errors import RequestRefused, TransientError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import (
    CUT_SHORT,
    Attempt,
    Brief,
    ChatRequest,
    Ending,
    Message,
    Usage,
)
from skillopt_cli.ports import ChatBackend, Executor

RENDERING = "chat_agent/1"
"""Changes whenever the same brief and skill would be put in other words."""


class ChatAgent:
    """An `AgentBackend` that attempts a brief with a single call to a chat model.

    As an async context manager it opens and closes the chat backend, where that is one.
    """

    def __init__(self, chat: ChatBackend) -> None:
        self.name = chat.name
        self.fingerprint = f"{RENDERING} {chat.fingerprint}"
        self.offers = chat.offers
        self._chat = chat
        self._opened = AsyncExitStack()

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        """Attempt a brief while holding `skill`, whose text is sent as it is.

        An empty answer is the model's own failure (`gave_up`); a call that could not be made is
        ours (`broken`).

        Raises:
            FatalBackendError: no attempt can succeed.
        """
        asked = render(brief, skill)
        try:
            reply = await self._chat.chat(ChatRequest(asked, stage=brief.stage, draw=brief.draw))
        except (TransientError, RequestRefused) as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            return Attempt("", asked, Usage(), "broken", reason)
        messages = (*asked, Message("assistant", reply.text))
        ending: Ending = "answered" if reply.text.strip() else "gave_up"
        why = CUT_SHORT if ending == "gave_up" and reply.finish == "length" else ""
        return Attempt(reply.text, messages, reply.usage, ending, why)

    async def __aenter__(self) -> Self:
        if isinstance(self._chat, AbstractAsyncContextManager):
            await self._opened.enter_async_context(self._chat)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()


def render(brief: Brief, skill: SkillDocument) -> tuple[Message, Message]:
    """System and user message for a brief: who the target is, what it was taught, how to answer."""
    taught = f"## Skill\n{skill.text}" if skill.text.strip() else ""
    system = "\n\n".join(part for part in (brief.role, taught, brief.answer_format) if part)
    return Message("system", system), Message("user", brief.prompt, brief.images)
