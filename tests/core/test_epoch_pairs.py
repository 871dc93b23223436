"""Pairs: what became of a task between two skills."""

from __future__ import annotations

import pytest

from skillopt_cli.core.epoch_pairs import CATEGORIES, Pair, counts, paired
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.task import Attempt, Task


def tried(name: str, hard: float | None) -> Trajectory:
    task = Task(name, "qa", {})
    if hard is None:
        return Trajectory(task, Attempt("", ending="broken", error="HTTP 500"), None)
    return Trajectory(task, Attempt("x"), Score(hard, hard))


@pytest.mark.parametrize(
    ("before", "after", "category", "changed"),
    [
        (0.0, 1.0, "improved", True),
        (1.0, 0.0, "regressed", True),
        (0.0, 0.0, "persistent_fail", False),
        (1.0, 1.0, "stable_success", False),
        (0.2, 0.9, "persistent_fail", False),  # below full marks is a failure
        (0.9, 1.0, "improved", True),
    ],
)
def test_categories_and_policies(before: float, after: float, category: str, changed: bool) -> None:
    pair = Pair(tried("a", before), tried("a", after))
    assert pair.category == category
    assert pair.fits("mixed")
    assert pair.fits("changed") is changed
    assert pair.fits("unchanged") is not changed


def test_a_task_broken_under_either_skill_is_left_out() -> None:
    before = [tried("a", 1.0), tried("b", None), tried("c", 0.0)]
    after = [tried("c", 1.0), tried("a", None), tried("b", 1.0)]
    assert [pair.before.task.id for pair in paired(before, after)] == ["c"]


def test_counts_name_every_category_in_a_fixed_order() -> None:
    pairs = [Pair(tried("a", 0.0), tried("a", 1.0))]
    assert counts(pairs) == tuple((c, int(c == "improved")) for c in CATEGORIES)
