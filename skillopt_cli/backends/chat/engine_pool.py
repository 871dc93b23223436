"""Engines that keep the text they read last, lent to the calls that begin with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

MOST_PASSED = 32
"""Calls with a kept prefix that may pass the one that waits longest."""

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Waiting(Generic[T]):
    prefix: str
    turn: asyncio.Future[T]
    passed: int = 0


class EnginePool(Generic[T]):
    """Engines, each lent to one call at a time.

    Reading a prefix, such as a skill, can take longer than the rest of a call. Where stages with
    different skills run side by side, an engine goes to a call with the prefix that it has read
    last, if one waits. No call is passed more than `MOST_PASSED` times, so none waits without end.
    """

    def __init__(self, engines: Sequence[T]) -> None:
        self._idle = [(engine, "") for engine in engines]
        self._waiting: list[_Waiting[T]] = []

    @asynccontextmanager
    async def lent(self, prefix: str) -> AsyncIterator[T]:
        """An engine for one call that begins with `prefix`, as soon as it is this call's turn."""
        engine = await self._turn(prefix)
        try:
            yield engine
        finally:
            self._return(engine, prefix)

    async def _turn(self, prefix: str) -> T:
        if self._idle:
            kept = [place for place, (_, read) in enumerate(self._idle) if read == prefix]
            return self._idle.pop(kept[-1] if kept else -1)[0]
        waiting = _Waiting[T](prefix, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            return await waiting.turn
        except asyncio.CancelledError:
            if not waiting.turn.cancelled():
                # The engine was given to it before it was cancelled.
                self._return(waiting.turn.result(), "")
            raise

    def _return(self, engine: T, read: str) -> None:
        """Lend an engine to the next call, or keep it."""
        self._waiting = [one for one in self._waiting if not one.turn.done()]
        if not self._waiting:
            self._idle.append((engine, read))
            return
        first = self._waiting[0]
        kept = next((one for one in self._waiting if one.prefix == read), first)
        taken = first if first.passed >= MOST_PASSED else kept
        first.passed += taken is not first
        taken.turn.set_result(engine)
