"""The schedule: learning rates, steps and batches, as pure functions of the step number."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_cli.config.sections import OptimizerConfig
from skillopt_cli.core.plan import LearningRate, Scheduler, TrainPlan
from skillopt_cli.core.task import Task

SCHEDULERS: list[Scheduler] = ["constant", "linear", "cosine"]


def plan(size: int = 10, batch: int = 4, **more: int) -> TrainPlan:
    epochs, accumulation = more.get("epochs", 2), more.get("accumulation", 1)
    rate = LearningRate(4, 2)
    return TrainPlan(epochs, size, batch, accumulation, more.get("seed", 42), rate)


def tasks(size: int) -> list[Task]:
    return [Task(f"task {i}", "kind", {"n": i}) for i in range(size)]


def test_the_first_of_eight_cosine_steps_from_eight_is_7_77() -> None:
    rate = LearningRate(8, 2, "cosine")
    assert f"{rate.raw(1, 8):.2f}" == "7.77"
    budgets = [rate.budget(step, 8) for step in range(1, 9)]
    assert budgets == [8, 7, 6, 5, 4, 3, 2, 2]


@pytest.mark.parametrize(
    ("scheduler", "from_start", "budgets"),
    [
        ("constant", False, [8, 8, 8, 8]),
        ("linear", False, [7, 5, 4, 2]),  # 6.5, 5, 3.5 and 2: halves go up
        ("linear", True, [8, 6, 4, 2]),
        ("cosine", False, [7, 5, 3, 2]),
        ("cosine", True, [8, 7, 4, 2]),  # 8, 6.5, 3.5, 2
    ],
)
def test_schedules(scheduler: Scheduler, from_start: bool, budgets: list[int]) -> None:
    rate = LearningRate(8, 2, scheduler, from_start=from_start)
    assert [rate.budget(step, 4) for step in range(1, 5)] == budgets


@given(st.data(), st.sampled_from(SCHEDULERS), st.booleans())
def test_every_budget_lies_between_floor_and_rate_and_never_grows(
    data: st.DataObject, scheduler: Scheduler, from_start: bool
) -> None:
    high = data.draw(st.integers(1, 40))
    low = data.draw(st.integers(1, high))
    total = data.draw(st.integers(1, 60))
    rate = LearningRate(high, low, scheduler, from_start=from_start)
    budgets = []
    for step in range(1, total + 1):
        raw, budget = rate.raw(step, total), rate.budget(step, total)
        assert budget is not None
        assert low - 1e-9 <= raw <= high
        assert low <= budget <= high
        assert abs(budget - raw) <= 0.5 + 1e-6
        budgets.append(budget)
    assert budgets == sorted(budgets, reverse=True)
    if scheduler != "constant" and total > 1:
        assert budgets[-1] == low


@given(st.integers(1, 30), st.integers(1, 30), st.integers(2, 40))
def test_a_half_is_rounded_up(high: int, low: int, total: int) -> None:
    low = min(low, high)
    rate = LearningRate(high, low, "linear")
    for step in range(1, total + 1):
        # Exact in integers: high + (low - high) step / total.
        numerator = high * total + (low - high) * step
        assert rate.budget(step, total) == (2 * numerator + total) // (2 * total)


def test_a_single_step_uses_the_whole_rate_and_no_cap_means_none() -> None:
    assert LearningRate(8, 2).budget(1, 1) == 8
    assert LearningRate(8, 2, from_start=True).budget(1, 1) == 8
    assert LearningRate(8, 2, capped=False).budget(1, 8) is None


def test_the_default_floor_never_exceeds_the_rate() -> None:  # T16
    assert OptimizerConfig(learning_rate=1).floor == 1
    assert OptimizerConfig(learning_rate=2).floor == 2
    assert OptimizerConfig(learning_rate=9).floor == 2
    with pytest.raises(ValueError, match="above `learning_rate`"):
        OptimizerConfig(learning_rate=1, min_learning_rate=2)
    rate = LearningRate(1, OptimizerConfig(learning_rate=1).floor, "cosine")
    assert {rate.budget(step, 20) for step in range(1, 21)} == {1}


def test_the_last_batch_is_short_and_never_refilled() -> None:
    schedule = plan(10, 4)
    assert (schedule.steps_per_epoch, schedule.total) == (3, 6)
    sizes = [len(schedule.batch(tasks(10), step)) for step in schedule.after(0)]
    assert sizes == [4, 4, 2, 4, 4, 2]


def test_accumulation_makes_longer_steps() -> None:
    schedule = plan(10, 2, accumulation=3)
    assert [len(schedule.batch(tasks(10), step)) for step in schedule.after(0)] == [6, 4, 6, 4]


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 3), st.integers(1, 3), st.integers())
def test_an_epoch_covers_the_train_split_exactly_once(
    size: int, batch: int, accumulation: int, epochs: int, seed: int
) -> None:
    schedule = plan(size, batch, accumulation=accumulation, epochs=epochs, seed=seed)
    pool = tasks(size)
    seen: dict[int, Counter[str]] = {}
    for step in schedule.after(0):
        chosen = schedule.batch(pool, step)
        assert 1 <= len(chosen) <= batch * accumulation
        seen.setdefault(step.epoch, Counter()).update(task.id for task in chosen)
    assert list(seen) == list(range(1, epochs + 1))
    assert all(counts == Counter(task.id for task in pool) for counts in seen.values())


def test_epochs_shuffle_differently_and_seeds_do() -> None:
    pool = tasks(40)
    schedule, other = plan(40, 40), plan(40, 40, seed=43)
    first, second = (schedule.batch(pool, step) for step in schedule.after(0))
    assert first != second
    slices = [plan(40, 10).batch(pool, step) for step in plan(40, 10).after(0)]
    assert {t.id for t in slices[0]} != {t.id for t in slices[4]}
    assert other.batch(pool, other.step(1)) != first


def test_a_batch_is_a_function_of_its_step_alone() -> None:
    pool, schedule = tasks(23), plan(23, 4)
    ahead = [schedule.batch(pool, schedule.step(n)) for n in range(schedule.total, 0, -1)]
    assert ahead[::-1] == [schedule.batch(pool, step) for step in schedule.after(0)]


def test_steps_know_their_place() -> None:
    schedule = plan(10, 4)
    steps = list(schedule.after(0))
    assert [s.number for s in steps] == [1, 2, 3, 4, 5, 6]
    assert [(s.epoch, s.step_in_epoch) for s in steps] == [
        (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3),
    ]  # fmt: skip
    assert [s.closes_epoch for s in steps] == [False, False, True] * 2
    assert len({s.seed for s in steps}) == 6
    assert 0 not in {s.seed for s in steps}  # draw 0 is for measuring
    assert list(schedule.after(4)) == steps[4:]
    assert list(schedule.after(6)) == []
    assert steps[0].folder == "steps/step_0001"
    assert math.isclose(steps[0].raw_rate, 2 + (1 + math.cos(math.pi / 6)))
