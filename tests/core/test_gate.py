"""The gate: strictly better or nothing, on the same tasks, with enough of them scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_cli.core.gate import (
    EPSILON,
    GateDecision,
    GatePolicy,
    GateRule,
    contest,
    gain,
    gate,
    measuring_order,
    potential,
)
from skillopt_cli.core.score import BROKEN, HARD, SOFT, Mark, Measured, Metric, Settled
from skillopt_cli.core.skill import SkillDocument

OLD, NEW, BEST = SkillDocument("old"), SkillDocument("new"), SkillDocument("best")
RULE = GateRule()
METRICS = [HARD, SOFT, Metric("mixed", 0.3)]
POLICIES = st.sampled_from(get_args(GatePolicy))


def measured(skill: SkillDocument, scores: Sequence[float | None]) -> Measured:
    marks = {f"t{i}": BROKEN if s is None else Mark(s, s) for i, s in enumerate(scores)}
    return Measured(skill, marks)


def decide(
    new: Sequence[float | None], old: Sequence[float | None], rule: GateRule = RULE
) -> GateDecision:
    current = measured(OLD, old)
    return gate(measured(NEW, new), current, current, rule)


def test_better_is_a_new_best_worse_and_equal_are_rejected() -> None:
    assert decide([1, 1], [1, 0]).verdict == "new_best"
    assert decide([0, 0], [1, 0]).verdict == "reject"
    assert decide([0, 1], [1, 0]).verdict == "reject"


def test_a_tie_is_rejected_whatever_the_text_looks_like() -> None:  # T9
    loud = Measured(SkillDocument("**ALWAYS** **NEVER** **MUST**"), {"t0": Mark(0.5, 0.5)})
    current = Measured(OLD, {"t0": Mark(0.5, 0.5)})
    assert gate(loud, current, current, RULE).verdict == "reject"


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8), st.sampled_from(METRICS))
def test_the_same_text_is_a_no_op_however_it_scored(  # T10, A14
    scores: list[float | None], metric: Metric
) -> None:
    current = measured(OLD, scores)
    assert gate(current, current, current, GateRule(metric)).verdict == "no_op"
    lucky = measured(OLD, [1.0] * len(scores))
    assert gate(lucky, current, current, GateRule(metric)).verdict == "no_op"


@given(st.lists(st.floats(0, 1), max_size=8), st.sampled_from(METRICS))
def test_another_text_with_the_same_scores_is_never_accepted(
    scores: list[float], metric: Metric
) -> None:
    current = measured(OLD, scores)
    assert gate(replace(current, skill=NEW), current, current, GateRule(metric)).verdict == "reject"


def test_one_task_more_is_better_and_none_more_is_a_tie() -> None:  # A15
    cases = [(size, won) for size in range(2, 51) for won in {0, 1, size // 2, size - 1}]
    for n, won in cases:
        old = [1.0] * won + [0.0] * (n - won)
        more = [1.0] * (won + 1) + [0.0] * (n - won - 1)
        swapped = old[::-1]
        assert decide(more, old).verdict == "new_best"
        assert decide(swapped, old).verdict == "reject"
        if won:
            assert decide(old, more).verdict == "reject"


def test_the_rounding_of_graded_scores_is_no_improvement() -> None:
    # The same tenths in another order may sum to another float.
    for n in range(2, 51):
        tenths = [(i % 10) / 10 for i in range(n)]
        assert decide(tenths[::-1], tenths).verdict == "reject"
        assert decide([0.1 + 0.2] * n, [0.3] * n).verdict == "reject"
        raised = [*tenths[:-1], min(1.0, tenths[-1] + 0.01)]
        assert decide(raised, tenths).verdict == "new_best"


@pytest.mark.parametrize("n", [1, 7, 50])
def test_better_means_by_more_than_epsilon(n: int) -> None:
    old = [0.25] * n
    assert decide([0.25 + 2 * EPSILON] * n, old).verdict == "new_best"
    assert decide([0.25 + EPSILON / 2] * n, old).verdict == "reject"


def test_accept_and_new_best_differ_by_the_best_skill() -> None:
    current, best = measured(OLD, [0, 0, 0]), measured(BEST, [1, 1, 0])
    verdicts = [
        gate(measured(NEW, scores), current, best, RULE).verdict
        for scores in ([1, 0, 0], [0, 1, 1], [1, 1, 1])
    ]
    assert verdicts == ["accept", "accept", "new_best"]


def test_low_coverage_decides_nothing() -> None:  # T1
    decision = decide([1.0, None], [0.0, 0.0])
    assert decision.verdict == "indecisive"
    assert not decision.accepted
    assert (decision.candidate, decision.scored, decision.n) == (1.0, 1, 2)


@pytest.mark.parametrize(
    ("broken", "verdict"), [(0, "new_best"), (1, "new_best"), (2, "indecisive"), (10, "indecisive")]
)
def test_the_default_floor_is_nine_tenths(broken: int, verdict: str) -> None:
    scores: list[float | None] = [1.0] * (10 - broken) + [None] * broken
    assert decide(scores, [0.0] * 10).verdict == verdict


def test_a_reject_needs_no_coverage_when_nothing_could_change_it() -> None:
    # Full marks on the broken task would only make up for the lost one.
    assert decide([0.0, None], [1.0, 0.0]).verdict == "reject"
    assert decide([1.0, None], [1.0, 1.0]).verdict == "reject"


def test_only_tasks_that_both_have_a_score_for_are_compared() -> None:
    rule = GateRule(min_coverage=0.5)
    # The means say 1.0 over 0.5; on the one common task nothing changed.
    assert decide([1.0, None, 0.5], [1.0, 0.0, 0.5], rule).verdict == "reject"
    assert decide([1.0, None, 1.0], [1.0, 0.0, 0.5], rule).verdict == "new_best"
    assert decide([1.0, 1.0, 0.5], [None, 1.0, 0.5], rule).verdict == "reject"
    assert decide([1.0, 1.0], [None, None], GateRule(min_coverage=0)).verdict == "reject"


def test_without_a_gate_every_measured_candidate_is_taken() -> None:
    rule = GateRule(use_gate=False)
    for scores in ([0.0, 0.0], [1.0, 1.0], [None, None]):
        decision = decide(scores, [1.0, 0.0], rule)
        assert (decision.verdict, decision.accepted) == ("force_accept", True)


def test_a_decision_names_what_it_fixed_and_broke() -> None:
    decision = decide([1.0, 0.0, 0.5, None], [0.0, 1.0, 0.5, 0.0], GateRule(min_coverage=0.5))
    assert (decision.fixed, decision.broke) == (("t0",), ("t1",))
    assert (decision.candidate, decision.incumbent) == (0.5, 0.375)


def test_a_settled_measurement_is_a_reject_with_its_bound() -> None:
    current = measured(OLD, [1.0, 0.0, 0.0, 1.0])
    settled = Settled(NEW, {"t1": Mark(0.0, 0.0), "t2": Mark(0.0, 0.0)}, 0.5, 4)
    decision = gate(settled, current, current, RULE)
    assert (decision.verdict, decision.early) == ("reject", True)
    assert (decision.candidate, decision.scored, decision.n) == (0.5, 2, 4)


GRADES = st.one_of(
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7, 0.9, 1.0]),
    st.floats(0, 1),
    st.sampled_from([0.5, 0.5 + 1e-9, 0.5 + 2e-9, 0.5 - 1e-9]),
)
MARKS = st.one_of(
    st.just(BROKEN),
    st.builds(Mark, GRADES, GRADES),
    st.builds(Mark, st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])),
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Measured, Measured]:
    """An incumbent and a candidate on the same tasks."""
    n = draw(st.integers(0, 9))
    old, new = (draw(st.lists(MARKS, min_size=n, max_size=n)) for _ in range(2))
    ids = [f"t{i}" for i in range(n)]
    return (
        Measured(OLD, dict(zip(ids, old, strict=True))),
        Measured(NEW, dict(zip(ids, new, strict=True))),
    )


@settings(max_examples=250)
@given(pairs(), st.sampled_from(METRICS), st.sampled_from([0.0, 0.5, 0.9, 1.0]), POLICIES)
def test_a_settled_contest_is_a_reject_of_the_full_measurement(
    pair: tuple[Measured, Measured], metric: Metric, floor: float, policy: GatePolicy
) -> None:
    incumbent, candidate = pair
    rule = GateRule(metric, floor, policy=policy)
    order = measuring_order(incumbent, metric)
    assert sorted(order) == sorted(incumbent.marks)
    standing = contest(incumbent, rule)
    taken: dict[str, Mark] = {}
    verdict = gate(candidate, incumbent, incumbent, rule).verdict
    for task in order:
        bound = potential(taken, incumbent.marks, metric)
        assert standing.settled == (standing.counted > 0 and not rule.suffices(bound))
        if standing.settled:
            assert verdict == "reject"
        taken[task] = candidate.marks[task]
        standing = standing.after(candidate.marks[task], incumbent.marks[task])
    assert standing.done == len(order)
    bound = potential(taken, incumbent.marks, metric)
    assert standing.settled == (standing.counted > 0 and not rule.suffices(bound))


@settings(max_examples=150)
@given(pairs(), st.sampled_from(METRICS))
def test_the_bound_bounds(pair: tuple[Measured, Measured], metric: Metric) -> None:
    incumbent, candidate = pair
    standing = contest(incumbent, GateRule(metric))
    if not standing.counted:
        return
    bounds = [standing.bound]
    for task in measuring_order(incumbent, metric):
        standing = standing.after(candidate.marks[task], incumbent.marks[task])
        bounds.append(standing.bound)
    assert all(a >= b - 1e-12 for a, b in pairwise(bounds))
    assert bounds[0] == pytest.approx(1.0)
    scored = [t for t, m in incumbent.marks.items() if not m.broken]
    values = [v for t in scored if (v := candidate.marks[t].under(metric)) is not None]
    if len(values) == standing.counted:
        assert bounds[-1] == pytest.approx(sum(values) / len(values))
        assert (
            gain(candidate.marks, incumbent.marks, metric)
            == potential(candidate.marks, incumbent.marks, metric).gain
        )


def test_losses_are_measured_first_and_each_part_keeps_its_order() -> None:
    incumbent = Measured(
        OLD,
        {
            "a": Mark(1.0, 0.5),
            "b": Mark(0.0, 0.0),
            "c": Mark(1.0, 1.0),
            "d": BROKEN,
            "e": Mark(0.5, 1.0),
        },
    )
    assert measuring_order(incumbent, HARD) == ("b", "d", "e", "a", "c")
    assert measuring_order(incumbent, SOFT) == ("a", "b", "d", "c", "e")
