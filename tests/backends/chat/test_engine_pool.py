"""Engines are lent to the calls whose prefix they have read, and no call waits without end."""

import asyncio
from collections import Counter

import pytest

from skillopt_cli.backends.chat.engine_pool import MOST_PASSED, EnginePool


class Calls:
    """Calls to two engines, and which engine answered each: `(engine, prefix, place)`."""

    def __init__(self, engines=("one", "two")):
        self.pool, self.made = EnginePool(engines), []

    async def ask(self, prefix, place=0):
        async with self.pool.lent(prefix) as engine:
            self.made.append((engine, prefix, place))
            await asyncio.sleep(0)

    @property
    def read(self):
        """How many calls found another prefix in their engine than their own."""
        kept, read = {}, 0
        for engine, prefix, _ in self.made:
            read += kept.get(engine) != prefix
            kept[engine] = prefix
        return read


async def test_two_skills_that_run_side_by_side_keep_an_engine_each():
    calls = Calls()
    async with asyncio.TaskGroup() as group:
        for place in range(100):
            group.create_task(calls.ask("ab"[place % 2], place))
    assert calls.read <= 4
    assert Counter(engine for engine, *_ in calls.made) == {"one": 50, "two": 50}


async def test_calls_with_one_prefix_come_in_turn_on_all_engines():
    calls = Calls()
    async with asyncio.TaskGroup() as group:
        for place in range(20):
            group.create_task(calls.ask("a", place))
    assert [place for *_, place in calls.made] == list(range(20))
    assert {engine for engine, *_ in calls.made} == {"one", "two"}


async def test_no_call_is_passed_without_end():
    calls = Calls(["one"])
    async with asyncio.TaskGroup() as group:
        for place in range(3):
            group.create_task(calls.ask("a", place))
        group.create_task(calls.ask("b"))
        for place in range(3, 60):
            group.create_task(calls.ask("a", place))
    prefixes = [prefix for _, prefix, _ in calls.made]
    assert prefixes.index("b") == 3 + MOST_PASSED


@pytest.mark.parametrize("given", [False, True])
async def test_a_cancelled_call_leaves_its_engine_to_others(given):
    calls = Calls(["one"])
    pool = calls.pool
    async with pool.lent("a"):
        waits = asyncio.create_task(calls.ask("b"))
        follows = asyncio.create_task(calls.ask("c"))
        await asyncio.sleep(0)
        if not given:
            waits.cancel()
    # The engine was given to it by now, but it has not run since.
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    await follows
    assert calls.made == [("one", "c", 0)]
    await calls.ask("d")
