"""Work that begins before its turn: its result, its facts, its place, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from skillopt_cli.core.events import Degraded
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.stages import Run
from skillopt_cli.stages.overlap import Overlap
from skillopt_cli.testing import EventLog, toy_run


@pytest.fixture
def log() -> EventLog:
    return EventLog()


@pytest.fixture
def run(log: EventLog) -> Run:
    return replace(toy_run(observers=[Subscriber("log", log)]), overlap=Overlap(1))


class Work:
    """Work that states two facts, and waits between them to be let on."""

    def __init__(self) -> None:
        self.on, self.done, self.times = asyncio.Event(), False, 0

    async def __call__(self, run: Run) -> str:
        self.times += 1
        run.emit(Degraded("first", ""))
        await self.on.wait()
        run.emit(Degraded("second", ""))
        self.done = True
        return "result"


def told(log: EventLog) -> list[str]:
    return [event.where for event in log.of(Degraded)]


async def test_facts_wait_for_their_turn(run: Run, log: EventLog) -> None:
    work = Work()
    run.begin("work", work)
    await asyncio.sleep(0)
    assert (work.times, told(log)) == (1, [])
    turn = asyncio.create_task(run.finish("work", work))
    await asyncio.sleep(0)
    assert told(log) == ["first"]
    work.on.set()
    assert await turn == "result"
    assert (work.times, told(log)) == (1, ["first", "second"])


@pytest.mark.parametrize("overlap", [None, Overlap(1)])
async def test_work_that_was_not_begun_is_done_at_its_turn(
    run: Run, log: EventLog, overlap: Overlap | None
) -> None:
    run, work = replace(run, overlap=overlap), Work()
    work.on.set()
    assert await run.finish("work", work) == "result"
    assert told(log) == ["first", "second"]


async def test_work_is_begun_once_and_may_be_done_again_after_its_turn(run: Run) -> None:
    work = Work()
    work.on.set()
    for _ in range(2):
        run.begin("work", work)
    await run.finish("work", work)
    assert work.times == 1
    await run.finish("work", work)
    assert work.times == 2


async def test_an_error_is_that_of_the_turn(run: Run, log: EventLog) -> None:
    async def fail(run: Run) -> None:
        run.emit(Degraded("first", ""))
        raise ValueError("lost")

    run.begin("work", fail)
    await asyncio.sleep(0)
    assert told(log) == []
    with pytest.raises(ValueError, match="lost"):
        await run.finish("work", fail)
    assert told(log) == ["first"]


async def test_what_had_no_turn_is_cancelled(run: Run, log: EventLog) -> None:
    work = Work()
    assert run.overlap is not None
    async with run.overlap:
        run.begin("work", work)
        await asyncio.sleep(0)
    work.on.set()
    await asyncio.sleep(0)
    assert (work.done, told(log)) == (False, [])


async def test_a_turn_that_is_cancelled_cancels_the_work(run: Run) -> None:
    work = Work()
    run.begin("work", work)
    turn = asyncio.create_task(run.finish("work", work))
    await asyncio.sleep(0)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    work.on.set()
    await asyncio.sleep(0)
    assert not work.done


@pytest.fixture
def places(run: Run) -> Callable[[int], Run]:
    """A run with so many places."""
    return lambda workers: replace(run, overlap=Overlap(workers))


class Attempts:
    """Attempts that last until they are let go."""

    def __init__(self) -> None:
        self.inside: list[str] = []
        self.on: dict[str, asyncio.Event] = {}

    async def make(self, run: Run, *names: str) -> None:
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(self._make(run, name))

    async def _make(self, run: Run, name: str) -> None:
        self.on[name] = asyncio.Event()
        async with run.place():
            self.inside.append(name)
            await self.on[name].wait()
        self.inside.remove(name)

    async def let_go(self, name: str) -> list[str]:
        self.on[name].set()
        return await self.settled()

    async def settled(self) -> list[str]:
        """Those that have a place, once nothing moves on by itself."""
        for _ in range(6):
            await asyncio.sleep(0)
        return self.inside


async def test_attempts_before_their_turn_wait_until_no_other_does(
    places: Callable[[int], Run],
) -> None:
    run, attempts = places(1), Attempts()
    current = asyncio.create_task(attempts.make(run, "a", "b"))
    await attempts.settled()
    run.begin("early", lambda early: attempts.make(early, "x", "y"))
    await attempts.settled()
    late = asyncio.create_task(attempts.make(run, "c"))
    assert await attempts.settled() == ["a"]
    for name, following in (("a", ["b"]), ("b", ["c"]), ("c", ["x"]), ("x", ["y"]), ("y", [])):
        assert await attempts.let_go(name) == following
    await asyncio.gather(current, late)


async def test_attempts_before_their_turn_take_a_quarter_of_the_places(
    places: Callable[[int], Run],
) -> None:
    run, attempts = places(8), Attempts()

    async def work(run: Run) -> None:
        await attempts.make(run, *"abcdefghij")

    run.begin("early", work)
    assert await attempts.settled() == ["a", "b"]
    assert await attempts.let_go("a") == ["b", "c"]
    turn = asyncio.create_task(run.finish("early", work))
    assert await attempts.settled() == list("bcdefghi")
    for name in "bcdefghij":
        await attempts.let_go(name)
    await turn


async def test_a_place_given_to_a_cancelled_attempt_is_not_lost(run: Run) -> None:
    async def attempt() -> None:
        async with run.place():
            pass

    async with run.place():
        waiting = asyncio.create_task(attempt())
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.wait_for(attempt(), 1)
