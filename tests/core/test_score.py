"""Scores, trajectories and means that know about broken attempts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.score import (
    BROKEN,
    HARD,
    SOFT,
    Mark,
    Measured,
    Metric,
    Score,
    Settled,
    Trajectory,
    mark,
)
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Task

SKILL = SkillDocument("A")
TASK = Task("t", "kind", {})
UNIT = st.floats(0, 1)


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["hard", "soft"])
def test_a_score_lies_between_nought_and_one(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} score"):
        Score(value, 0.5) if name == "hard" else Score(0.5, value)


@pytest.mark.parametrize("ending", ["answered", "gave_up", "broken"])
def test_a_trajectory_is_unscored_exactly_when_it_is_broken(ending: str) -> None:
    attempt = Attempt("x", ending=ending)  # type: ignore[arg-type]
    wrong = Score(0.0, 0.0) if ending == "broken" else None
    with pytest.raises(ValueError, match="exactly when"):
        Trajectory(TASK, attempt, wrong)


@pytest.mark.parametrize(
    ("hard", "failed"), [(0.0, True), (0.2, True), (0.999, True), (1.0, False)]
)
def test_anything_below_full_marks_is_a_failure(hard: float, failed: bool) -> None:  # T17
    assert Trajectory(TASK, Attempt("x"), Score(hard, 1.0)).failed is failed


def test_a_broken_attempt_is_no_failure() -> None:
    assert not Trajectory(TASK, Attempt("", ending="broken"), None).failed


@given(UNIT, UNIT, UNIT)
def test_metrics(hard: float, soft: float, weight: float) -> None:
    score = Score(hard, soft)
    mixed = Metric("mixed", weight)(score)
    assert (HARD(score), SOFT(score)) == (hard, soft)
    assert 0.0 <= mixed <= 1.0
    assert min(hard, soft) - 1e-12 <= mixed <= max(hard, soft) + 1e-12
    assert Metric("mixed", weight)(Score(1.0, 1.0)) == 1.0


def test_a_mean_is_over_scored_tasks_and_carries_its_coverage() -> None:  # T1
    measured = Measured(SKILL, {"a": Mark(1.0, 1.0), "b": BROKEN})
    assert (measured.hard, measured.soft) == (1.0, 1.0)
    assert (measured.n, measured.scored, measured.coverage) == (2, 1, 0.5)


def test_nought_is_a_score_and_nothing_is_none() -> None:  # T4
    assert Measured(SKILL, {"a": Mark(0.0, 0.0)}).hard == 0.0
    assert Measured(SKILL, {"a": BROKEN}).hard is None
    assert Measured(SKILL).hard is None
    assert Measured(SKILL).coverage == 0.0


def test_a_mark_is_a_score_without_its_texts() -> None:
    assert mark(Score(0.25, 0.5, "feedback", ("x",))) == Mark(0.25, 0.5)
    assert mark(None) == BROKEN
    assert BROKEN.broken
    assert BROKEN.under(HARD) is None
    assert [Mark(0.0, 0.5).under(m) for m in (HARD, SOFT, Metric("mixed"))] == [0.0, 0.5, 0.25]


def test_a_settled_measurement_has_no_mean() -> None:
    settled = Settled(SKILL, {"a": Mark(0.0, 0.0)}, 0.5, 4)
    assert (settled.hard, settled.soft) == (None, None)
