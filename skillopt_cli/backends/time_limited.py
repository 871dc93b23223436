"""Calls that end in time."""

from __future__ import annotations

import asyncio

from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.core.errors import CallTimedOut
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend


class TimeLimited(Wrapper):
    """Ends a call after `seconds`; nothing of it goes on behind."""

    def __init__(self, inner: ChatBackend, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply.

        Raises:
            CallTimedOut: it took longer than the limit.
        """
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await self._inner.chat(request)
        except TimeoutError:
            if not limit.expired():
                raise
        raise CallTimedOut(
            f"model `{self.name}` did not answer within {self._seconds:g} s",
            "raise model.timeout, or look at the server",
        )
