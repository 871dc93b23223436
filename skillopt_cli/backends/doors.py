"""Doors: let the calls in flight finish, and begin no new one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend


def _always() -> bool:
    return True


class Doors:
    """Shared by all backends of a run. Once closed, whoever comes waits until they open again.

    Waiting rather than failing keeps the calls in flight alive: an error in one would cancel its
    siblings. Whoever closes the doors cancels the run when the last call has left. On top of that
    they may be held for a while.

    Attributes:
        inside: calls in flight.
    """

    def __init__(self) -> None:
        self.inside = 0
        self._open = True
        self._held = False
        self._news = asyncio.Event()
        self._when_empty: Callable[[], object] | None = None

    def close(self, when_empty: Callable[[], object]) -> None:
        """Begin no new call; `when_empty` is called once none is in flight, maybe at once."""
        self._open = False
        self._when_empty = when_empty
        self._check()

    def open(self) -> None:
        """Let those who wait begin their calls."""
        self._open = True
        self._when_empty = None
        self._news.set()

    def hold(self) -> None:
        """Begin no new call until `release`; nothing ends."""
        self._held = True

    def release(self) -> None:
        """Let those who were held begin their calls, unless the doors are closed."""
        self._held = False
        self._news.set()

    def ask_again(self) -> None:
        """Have those who wait ask anew whether they are admitted."""
        self._news.set()

    async def enter(self, admitted: Callable[[], bool] = _always) -> None:
        """Pass, or wait until the doors are open, not held, and it is `admitted`.

        Args:
            admitted: asked only while the doors are open, and again whenever a call has left or
                `ask_again` says so; it may close them.
        """
        while self._held or not (self._open and admitted()):
            self._news.clear()
            await self._news.wait()
        self.inside += 1

    def leave(self) -> None:
        """A call ended, however it did."""
        self.inside -= 1
        self._news.set()
        self._check()

    def _check(self) -> None:
        if self._when_empty is not None and self.inside == 0:
            # The call that just left still has to be journaled: do not overtake it.
            asyncio.get_running_loop().call_soon(self._when_empty)
            self._when_empty = None


class Guarded(Wrapper):
    """A backend whose calls pass the doors."""

    def __init__(self, inner: ChatBackend, doors: Doors) -> None:
        super().__init__(inner)
        self._doors = doors

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply, unless the doors are closed."""
        await self._doors.enter()
        try:
            return await self._inner.chat(request)
        finally:
            self._doors.leave()
