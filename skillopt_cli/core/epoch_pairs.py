"""Longitudinal pairs: the same train task under last epoch's and this epoch's skill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from skillopt_cli.core.score import Trajectory

Category = Literal["improved", "regressed", "persistent_fail", "stable_success"]
PairPolicy = Literal["mixed", "changed", "unchanged"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
_CHANGED: tuple[Category, ...] = ("improved", "regressed")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two scored attempts at one task."""

    before: Trajectory
    after: Trajectory

    @property
    def category(self) -> Category:
        """What became of the task between the two skills. A failure is a hard score below 1."""
        if self.before.failed:
            return "persistent_fail" if self.after.failed else "improved"
        return "regressed" if self.after.failed else "stable_success"

    def fits(self, policy: PairPolicy) -> bool:
        """Whether the policy wants to see this pair."""
        return policy == "mixed" or (self.category in _CHANGED) == (policy == "changed")


def paired(before: Sequence[Trajectory], after: Sequence[Trajectory]) -> tuple[Pair, ...]:
    """Pairs of attempts at the same tasks; a task broken under either skill is left out."""
    later = {t.task.id: t for t in after if t.score is not None}
    return tuple(
        Pair(t, later[t.task.id]) for t in before if t.score is not None and t.task.id in later
    )


def counts(pairs: Iterable[Pair]) -> tuple[tuple[Category, int], ...]:
    """Pairs per category, every category named, in a fixed order."""
    counted = Counter(pair.category for pair in pairs)
    return tuple((category, counted[category]) for category in CATEGORIES)
