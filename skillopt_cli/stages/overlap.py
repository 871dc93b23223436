"""Overlap: work that begins before its turn, as far as the sequential order is sure to do it.

The order of a run is that of the loop and its stages. `begin` only allows a piece of work to start;
`finish`, at its turn, returns the result. What the work states is held back until then, so facts,
texts and decisions are those of the sequential order, whether or not it was begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from skillopt_cli.core.events import RunEvent
from skillopt_cli.ports import Emit

if TYPE_CHECKING:
    from skillopt_cli.stages.run import Run

T = TypeVar("T")


class Overlap:
    """The work of a run that was begun before its turn; what is left at the end is cancelled.

    Args:
        workers: most attempts at a time, those before their turn included.
    """

    def __init__(self, workers: int) -> None:
        self._begun: dict[str, tuple[asyncio.Task[Any], Early]] = {}
        self._places = _Places(workers)

    def begin(self, run: Run, name: str, work: Callable[[Run], Awaitable[Any]]) -> None:
        """Start a piece of work, unless it was begun."""
        if not self.has_begun(name):
            early = Early()
            begun = work(replace(run, emit=early.emit, early=early))
            self._begun[name] = (asyncio.ensure_future(begun), early)

    def has_begun(self, name: str) -> bool:
        """Whether a piece of work was begun whose turn is not over."""
        return name in self._begun

    async def finish(self, run: Run, name: str, work: Callable[[Run], Awaitable[T]]) -> T:
        """The result of a piece of work whose turn it is."""
        if not self.has_begun(name):
            return await work(run)
        task, early = self._begun.pop(name)
        try:
            early.take_turn(run.emit)
            self._places.admit()
            result: T = await task
        finally:
            task.cancel()
        return result

    @asynccontextmanager
    async def place(self, work: Early | None) -> AsyncIterator[None]:
        """One attempt's place; those of work before its turn wait until nobody else does."""
        few = await self._places.take(work)
        try:
            yield
        finally:
            self._places.give(few=few)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        left = [task for task, _ in self._begun.values()]
        self._begun.clear()
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


class Early:
    """A piece of work before its turn: what it states is held back until then."""

    def __init__(self) -> None:
        self._held: list[RunEvent] = []
        self._emit: Emit | None = None

    @property
    def due(self) -> bool:
        """Whether its turn has come."""
        return self._emit is not None

    def emit(self, event: RunEvent) -> None:
        """State a fact."""
        if self._emit is None:
            self._held.append(event)
        else:
            self._emit(event)

    def take_turn(self, emit: Emit) -> None:
        """Pass everything on to `emit` from now on, beginning with what was held."""
        self._emit = emit
        for event in self._held:
            emit(event)


class _Places:
    """Places for attempts; those before their turn get few of them, and only after all others.

    Few are a quarter: an attempt begun early is in the way of those whose turn comes meanwhile.
    """

    def __init__(self, free: int) -> None:
        self._free = free
        self._few = max(1, free // 4)
        self._waiting: list[tuple[asyncio.Future[bool], Early | None]] = []

    async def take(self, work: Early | None) -> bool:
        """Wait for a place; return whether it is one of the few."""
        given: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((given, work))
        self.admit()
        try:
            return await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                self.give(few=given.result())
            raise

    def give(self, *, few: bool) -> None:
        """Give a place back."""
        self._free += 1
        self._few += few
        self.admit()

    def admit(self) -> None:
        """Give the free places to those who wait."""
        if not self._free:
            return
        self._waiting = [(given, work) for given, work in self._waiting if not given.done()]
        for given, work in sorted(self._waiting, key=lambda waiting: _is_early(waiting[1])):
            few = _is_early(work)
            if not self._free or (few and not self._few):
                return
            self._free -= 1
            self._few -= few
            given.set_result(few)


def _is_early(work: Early | None) -> bool:
    return work is not None and not work.due
