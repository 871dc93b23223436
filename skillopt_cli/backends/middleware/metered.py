"""Usage accounting: one event per call."""

from __future__ import annotations

from collections.abc import Callable

from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.core.errors import BackendError
from skillopt_cli.core.events import CallFailed, CallMade, Role
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage
from skillopt_cli.ports import ChatBackend, Emit

Price = Callable[[Usage], float | None]
"""Returns the cost of a call in US dollars, or None if unknown."""


def unknown(usage: Usage) -> float | None:
    """Price of a model without a known price."""
    return None


def free(usage: Usage) -> float | None:
    """Price of a free model."""
    return 0.0


class Metered(Wrapper):
    """Emits `CallMade` for every answered call, and `CallFailed` for every failed try.

    A failed try may have cost tokens; its error carries the usage.
    """

    def __init__(self, inner: ChatBackend, role: Role, emit: Emit, price: Price = unknown) -> None:
        super().__init__(inner)
        self._role: Role = role
        self._emit = emit
        self._price = price

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the inner reply, after emitting its event; failures are emitted too."""
        try:
            reply = await self._inner.chat(request)
        except BackendError as error:
            usage = error.usage
            usd = self._price(usage) if usage is not None else None
            self._emit(CallFailed(self._role, request.stage, type(error).__name__, usage, usd))
            raise
        usd = self._price(reply.usage)
        self._emit(CallMade(self._role, request.stage, reply.usage, usd, request.turn))
        return reply
