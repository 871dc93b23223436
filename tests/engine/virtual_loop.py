"""An event loop whose clock jumps to the next timer: neither waiting nor computing takes time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """For programs without input and output other than files, and without threads."""

    def __init__(self) -> None:
        super().__init__(_Selector(self))
        self._now = 0.0

    def time(self) -> float:
        """The virtual time in seconds."""
        return self._now

    def skip(self, seconds: float) -> None:
        """Let so much time pass."""
        self._now += seconds


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        self._loop.skip(timeout)
        return super().select(0)


def run_virtually(main: Coroutine[Any, Any, T], loop: VirtualLoop) -> T:
    """The result of a coroutine that runs in virtual time."""
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main)
