"""An event loop whose clock jumps to the next timer, so that waiting takes no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


class _Jumping(selectors.DefaultSelector):
    """Instead of waiting for files, moves the clock on by as much."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise AssertionError("everybody waits for ever")
        self.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def in_virtual_time(main: Coroutine[Any, Any, Any]) -> Any:
    """What `main` returns; AssertionError where nothing can happen any more."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
