"""Calls accounted for: one fact each."""

from __future__ import annotations

from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.core.events import CallMade, Role
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend, Emit


class Metered(Wrapper):
    """Emits `CallMade` for every answered call."""

    def __init__(self, inner: ChatBackend, role: Role, emit: Emit) -> None:
        super().__init__(inner)
        self._role: Role = role
        self._emit = emit

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply, accounted for."""
        reply = await self._inner.chat(request)
        self._emit(CallMade(self._role, request.stage, reply.usage, turn=request.turn))
        return reply
