"""Bounds on the calls in flight."""

from __future__ import annotations

import asyncio

from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend


class Limited(Wrapper):
    """Bounds the calls in flight, per role and per provider.

    A call waits for its role's slot first: one that waits then holds nothing another role needs.
    """

    def __init__(
        self, inner: ChatBackend, role: asyncio.Semaphore, provider: asyncio.Semaphore
    ) -> None:
        super().__init__(inner)
        self._slots = (role, provider)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply, once there is a slot."""
        role, provider = self._slots
        async with role, provider:
            return await self._inner.chat(request)
