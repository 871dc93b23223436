"""What steering does to calls: doors held, clocks stopped, ceilings moved."""

from __future__ import annotations

import asyncio

import pytest

from skillopt_cli.backends.budget import Budget, Past
from skillopt_cli.backends.doors import Doors
from skillopt_cli.backends.pacing import Pacer
from skillopt_cli.backends.slots import Slots
from skillopt_cli.core.breadth import Breadth
from skillopt_cli.core.caps import Cap
from skillopt_cli.core.errors import BudgetExhausted


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_held_doors_let_nobody_in_until_they_are_released() -> None:
    doors = Doors()
    doors.hold()
    comer = asyncio.create_task(doors.enter())
    await settled()
    assert not comer.done()
    doors.release()
    await comer
    assert doors.inside == 1


async def test_closing_counts_although_doors_are_held_and_release_does_not_open_them() -> None:
    doors = Doors()
    empty = asyncio.Event()
    doors.hold()
    comer = asyncio.create_task(doors.enter())
    doors.close(empty.set)
    await empty.wait()
    doors.release()
    await settled()
    assert not comer.done()
    comer.cancel()


async def test_slots_grow_and_shrink_while_they_are_taken() -> None:
    slots, inside, most = Slots(2), 0, 0
    leave = asyncio.Event()

    async def use() -> None:
        nonlocal inside, most
        async with slots:
            inside += 1
            most = max(most, inside)
            await leave.wait()
            inside -= 1

    async with asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(use())
        await settled()
        assert inside == 2
        slots.resize(5)
        await settled()
        assert inside == 5
        slots.resize(1)
        most = 0
        leave.set()
    assert (inside, most) == (0, 1)


async def test_a_cancelled_waiter_takes_no_slot() -> None:
    slots = Slots(1)
    await slots.__aenter__()
    waiting = asyncio.create_task(slots.__aenter__())
    await settled()
    waiting.cancel()
    await asyncio.wait([waiting])
    await slots.__aexit__()
    await asyncio.wait_for(slots.__aenter__(), 5)


async def test_a_higher_ceiling_lets_waiting_calls_in() -> None:
    pacer = Pacer(1)
    await pacer.enter()
    comer = asyncio.create_task(pacer.enter())
    await settled()
    assert not comer.done()
    pacer.limit(2)
    assert (await comer).in_flight == 2


@pytest.mark.parametrize(("before", "after", "width"), [(64, 8, 8), (4, 64, 16), (64, 100, 16)])
def test_the_breadth_follows_its_ceiling(before: int, after: int, width: int) -> None:
    breadth = Breadth.open(before).under(after)
    assert (breadth.ceiling, breadth.width) == (after, width)
    refused = Breadth.open(64).burst(3)
    assert refused.under(100).width == refused.width


async def test_time_on_hold_is_not_time_of_the_cap() -> None:
    now = 100.0
    budget = Budget([Cap("max_minutes", 10)], Past(), lambda event: None, lambda: now)
    async with budget.within():
        now += 60
        budget.hold()
        now += 3600
        assert budget.use.minutes == 1
        budget.hold()
        budget.go_on()
        now += 60
        assert budget.use.minutes == 2
        budget.go_on()
        assert budget.use.minutes == 2


async def test_a_cap_set_under_way_closes_the_doors_and_a_lifted_one_opens_them() -> None:
    budget = Budget([Cap("max_calls", 1)], Past(), lambda event: None)
    async with budget.within():
        await budget.admit(rollout=False)
        second = asyncio.create_task(budget.admit(rollout=False))
        await settled()
        assert not second.done()
        budget.cap("max_calls", None)
        await second
    with pytest.raises(BudgetExhausted, match="max_minutes of 1e-09"):
        async with budget.within():
            budget.cap("max_minutes", 1e-9)
            with budget.in_flight(rollout=False), budget.in_flight(rollout=False):
                pass
            await asyncio.Event().wait()
    assert budget.reached is not None
