"""The stop gate of a run: calls in flight finish, no new one begins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend


def _always() -> bool:
    return True


class StopGate:
    """Holds back new calls of all backends of a run while it is closed or on hold.

    Callers wait instead of failing, because an error in one would cancel its siblings and with them
    the calls in flight. The code that closed the gate cancels the run after the last call has left.

    Attributes:
        inside: calls in flight.
    """

    def __init__(self) -> None:
        self.inside = 0
        self._open = True
        self._held = False
        self._changed = asyncio.Event()
        self._when_empty: Callable[[], object] | None = None

    def close(self, when_empty: Callable[[], object]) -> None:
        """Admit no new call; `when_empty` is called once none is in flight, possibly at once."""
        self._open = False
        self._when_empty = when_empty
        self._check()

    def open(self) -> None:
        """Admit waiting and new calls."""
        self._open = True
        self._when_empty = None
        self._changed.set()

    def hold(self) -> None:
        """Admit no new call until `release`; nothing is cancelled."""
        self._held = True

    def release(self) -> None:
        """End the hold; a closed gate stays closed."""
        self._held = False
        self._changed.set()

    def recheck(self) -> None:
        """Evaluate the admission condition of all waiting calls again."""
        self._changed.set()

    async def enter(self, admitted: Callable[[], bool] = _always) -> None:
        """Wait until the gate is open, not on hold, and `admitted()` is true; then count the call.

        Args:
            admitted: evaluated only while the gate is open, and again after each call that leaves
                and each `recheck`; it may close the gate.
        """
        while self._held or not (self._open and admitted()):
            self._changed.clear()
            await self._changed.wait()
        self.inside += 1

    def leave(self) -> None:
        """Count a call as ended, successful or not."""
        self.inside -= 1
        self._changed.set()
        self._check()

    def _check(self) -> None:
        if self._when_empty is not None and self.inside == 0:
            # Deferred, because the call that just left still has to be journaled.
            asyncio.get_running_loop().call_soon(self._when_empty)
            self._when_empty = None


class Gated(Wrapper):
    """A backend whose calls pass the stop gate."""

    def __init__(self, inner: ChatBackend, stop_gate: StopGate) -> None:
        super().__init__(inner)
        self._stop_gate = stop_gate

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the inner reply, after waiting for an open gate."""
        await self._stop_gate.enter()
        try:
            return await self._inner.chat(request)
        finally:
            self._stop_gate.leave()
