"""Early rejection: the verdict of the full measurement, at the shortest prefix, in any order."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scores import Target, by_skill, table_run

from skillopt_cli.core.gate import EPSILON, GateDecision, gate, measuring_order, potential
from skillopt_cli.core.score import BROKEN, Mark, Measured, Settled
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages import measure_against

OLD, NEW = SkillDocument("old\n"), SkillDocument("new\n")
GRADE = st.one_of(
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]),
    st.floats(0, 1),
)
MARK = st.one_of(
    st.builds(Mark, GRADE, GRADE),
    st.sampled_from([Mark(0.0, 0.0), Mark(1.0, 1.0), Mark(0.0, 0.4), BROKEN]),
)
METRICS = ("hard", "soft", "mixed")


def marks(table: list[Mark]) -> dict[str, Mark]:
    return {f"s{i}": mark for i, mark in enumerate(table)}


def attempt(
    old: list[Mark], new: list[Mark], order: int, *more: str, workers: int = 3
) -> tuple[Measured | Settled, GateDecision, Target]:
    """Measure the new table against the old one, ending attempts in a random order."""
    target = Target(by_skill({NEW.text: marks(new)}), Random(order))
    given = (f"run.workers={workers}", *more)
    run, _, _ = table_run(target, given, selection=len(old))
    incumbent = Measured(OLD, marks(old))
    measured = asyncio.run(measure_against(run, NEW, incumbent))
    return measured, gate(measured, incumbent, incumbent, run.rule), target


@settings(max_examples=60)
@given(st.data(), st.sampled_from(METRICS), st.integers(1, 9), st.sampled_from([1, 2, 5]))
def test_any_tables_in_any_order(data: st.DataObject, metric: str, n: int, workers: int) -> None:
    old, new = (data.draw(st.lists(MARK, min_size=n, max_size=n)) for _ in range(2))
    floor = data.draw(st.sampled_from([0.0, 0.9]))
    choice = (f"evaluation.gate_metric={metric}", f"evaluation.min_coverage={floor}")
    early = "evaluation.early_reject=true"
    seeds = data.draw(st.lists(st.integers(0, 99), min_size=2, max_size=2, unique=True))
    full, by_full, _ = attempt(old, new, 0, *choice, "evaluation.early_reject=false")
    assert full == Measured(NEW, marks(new))
    runs = [attempt(old, new, seed, *choice, early, workers=workers) for seed in seeds]
    for measured, decision, target in runs:
        assert decision.verdict == by_full.verdict
        assert target.most <= workers
        if isinstance(measured, Settled):
            assert decision.verdict == "reject"
            assert len(target.asked) <= len(measured.marks) + workers + n  # never asks twice
            assert len(set(target.asked)) == len(target.asked)
        else:
            # Whoever was measured in full carries the very same numbers.
            assert measured == full
            assert decision == by_full
    # The record is independent of the order in which attempts ended.
    assert runs[0][:2] == runs[1][:2]


@settings(max_examples=50)
@given(st.data(), st.sampled_from(METRICS), st.integers(2, 9))
def test_the_prefix_is_the_shortest_that_settles(data: st.DataObject, metric: str, n: int) -> None:
    old, new = (data.draw(st.lists(MARK, min_size=n, max_size=n)) for _ in range(2))
    measured, decision, _ = attempt(old, new, 1, f"evaluation.gate_metric={metric}")
    run, _, _ = table_run(Target(by_skill({})), (f"evaluation.gate_metric={metric}",))
    incumbent = Measured(OLD, marks(old))
    order = measuring_order(incumbent, run.metric)
    bounds = [
        potential({t: marks(new)[t] for t in order[:k]}, incumbent.marks, run.metric).gain
        for k in range(n + 1)
    ]
    comparable = not all(mark.broken for mark in old)
    settling = [k for k in range(n + 1) if comparable and bounds[k] <= EPSILON]
    if settling and settling[0] < n:
        assert isinstance(measured, Settled)
        assert list(measured.marks) == list(order[: settling[0]])
        assert measured.n == n
        assert measured.bound <= (incumbent.mean(run.metric) or 0) + 1e-8
        assert decision.early
    else:
        assert isinstance(measured, Measured)
        assert not decision.early


def test_what_early_rejection_is_for() -> None:
    wins, losses = [Mark(1.0, 1.0)] * 12, [Mark(0.0, 0.0)] * 8
    measured, decision, target = attempt([*wins, *losses], [*wins, *losses], 0, workers=1)
    assert isinstance(measured, Settled)
    # Eight losses that stay losses settle it; the twelve wins are never tried.
    assert list(measured.marks) == [f"s{i}" for i in range(12, 20)] == target.asked
    assert measured.bound == pytest.approx(0.6)
    assert measured.n == 20
    assert decision.verdict == "reject"
    assert decision.candidate == measured.bound


def test_a_candidate_that_wins_is_measured_in_full() -> None:
    old = [Mark(0.0, 0.0)] * 5
    new = [Mark(1.0, 1.0), *old[1:]]
    measured, decision, target = attempt(old, new, 3)
    assert isinstance(measured, Measured)
    assert decision.verdict == "new_best"
    assert len(target.asked) == 5


def test_attempts_in_flight_end_and_are_journaled_but_not_counted() -> None:
    old = [Mark(0.0, 0.0), *[Mark(1.0, 1.0)] * 7]
    target = Target(by_skill({NEW.text: marks(old)}), Random(5))
    run, store, _ = table_run(target, ("run.workers=4",), selection=8)
    incumbent = Measured(OLD, marks(old))

    async def twice() -> tuple[Measured | Settled, Measured | Settled]:
        return (
            await measure_against(run, NEW, incumbent),
            await measure_against(run, NEW, incumbent),
        )

    first, second = asyncio.run(twice())
    assert isinstance(first, Settled)
    assert list(first.marks) == ["s0"]
    assert first == second
    # The second time all of them come from the journal.
    assert len(target.asked) == len(set(target.asked)) >= 4
    kept = [row for row in store.files["selection/results.jsonl"].splitlines() if row]
    assert len(kept) <= len(target.asked)


def test_broken_attempts_keep_the_verdict_open_until_it_is_settled_without_them() -> None:
    old = [Mark(0.0, 0.0)] * 2 + [Mark(1.0, 1.0)] * 2
    new = [BROKEN, Mark(0.0, 0.0), Mark(0.0, 0.0), Mark(1.0, 1.0)]
    measured, decision, _ = attempt(old, new, 0, workers=1)
    # The broken one might have been won, so one lost win is needed to settle it.
    assert isinstance(measured, Settled)
    assert list(measured.marks) == ["s0", "s1", "s2"]
    assert measured.marks["s0"] == BROKEN
    assert decision.verdict == "reject"


def test_switched_off_or_without_a_gate_everything_is_measured() -> None:
    old = [Mark(1.0, 1.0)] * 3
    new = [Mark(0.0, 0.0)] * 3
    for setting in ("evaluation.early_reject=false", "evaluation.use_gate=false"):
        measured, _, target = attempt(old, new, 0, setting)
        assert isinstance(measured, Measured)
        assert len(target.asked) == 3
