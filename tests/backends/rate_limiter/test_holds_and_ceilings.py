"""What steering does to calls: doors held, clocks stopped, ceilings moved."""

from __future__ import annotations

import asyncio

import pytest

from skillopt_cli.backends.middleware.budget import Budget, PastUse
from skillopt_cli.backends.rate_limiter.adaptive import AdaptiveLimits
from skillopt_cli.backends.rate_limiter.limiter import Provider, RateLimiter
from skillopt_cli.backends.rate_limiter.stop_gate import StopGate
from skillopt_cli.core.caps import Cap
from skillopt_cli.core.errors import BudgetExhausted


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_held_doors_let_nobody_in_until_they_are_released() -> None:
    stop_gate = StopGate()
    stop_gate.hold()
    comer = asyncio.create_task(stop_gate.enter())
    await settled()
    assert not comer.done()
    stop_gate.release()
    await comer
    assert stop_gate.inside == 1


async def test_closing_counts_although_doors_are_held_and_release_does_not_open_them() -> None:
    stop_gate = StopGate()
    empty = asyncio.Event()
    stop_gate.hold()
    comer = asyncio.create_task(stop_gate.enter())
    stop_gate.close(empty.set)
    await empty.wait()
    stop_gate.release()
    await settled()
    assert not comer.done()
    comer.cancel()


async def test_calls_follow_a_ceiling_that_grows_and_shrinks_while_they_are_in_flight() -> None:
    limiter, inside, most = RateLimiter(Provider(2)), 0, 0
    leave = asyncio.Event()

    async def use() -> None:
        nonlocal inside, most
        call = await limiter.enter()
        inside += 1
        most = max(most, inside)
        await leave.wait()
        inside -= 1
        limiter.leave(call)

    async with asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(use())
        await settled()
        assert inside == 2
        limiter.set_ceiling(5)
        await settled()
        assert inside == 5
        limiter.set_ceiling(1)
        most = 0
        leave.set()
    assert (inside, most) == (0, 1)


async def test_a_cancelled_waiter_takes_no_place() -> None:
    limiter = RateLimiter(Provider(1))
    call = await limiter.enter()
    waiting = asyncio.create_task(limiter.enter())
    await settled()
    waiting.cancel()
    await asyncio.wait([waiting])
    limiter.leave(call)
    await asyncio.wait_for(limiter.enter(), 60)


async def test_a_higher_ceiling_lets_waiting_calls_in() -> None:
    limiter = RateLimiter(Provider(1))
    await limiter.enter()
    comer = asyncio.create_task(limiter.enter())
    await settled()
    assert not comer.done()
    limiter.set_ceiling(2)
    assert (await comer).in_flight == 2


@pytest.mark.parametrize(("before", "after", "width"), [(64, 8, 8), (4, 64, 16), (64, 100, 16)])
def test_the_width_follows_its_ceiling(before: int, after: int, width: int) -> None:
    limits = AdaptiveLimits(before)
    limits.ceiling = after
    assert limits.width == width


async def test_time_on_hold_is_not_time_of_the_cap() -> None:
    now = 100.0
    budget = Budget([Cap("max_minutes", 10)], PastUse(), lambda event: None, lambda: now)
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
    budget = Budget([Cap("max_calls", 1)], PastUse(), lambda event: None)
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
