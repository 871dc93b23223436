"""Marks of a skill over several draws of each task, and paired comparisons of skills. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from skillopt_cli.core.paired_statistics import PairedDifferences, paired_differences
from skillopt_cli.core.score import BROKEN, HARD, SOFT, Mark, Measured, Metric
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.statistics import corrected


@dataclass(frozen=True, slots=True)
class Repeated:
    """A skill and its marks, as many per task as there were draws, in file order.

    Made only by `stages.paired`: a score never travels without the text it was measured on.
    """

    skill: SkillDocument
    draws: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)

    @property
    def averaged(self) -> Measured:
        """The skill with one mark per task: the mean of its scored draws."""
        marks = {task_id: mean_mark(marks) for task_id, marks in self.draws.items()}
        return Measured(self.skill, marks)

    @property
    def attempts(self) -> int:
        """Attempts asked for."""
        return sum(map(len, self.draws.values()))

    @property
    def scored(self) -> int:
        """Attempts with a score."""
        return sum(not m.broken for marks in self.draws.values() for m in marks)

    @property
    def coverage(self) -> float:
        """Share of attempts with a score, in [0, 1]; 0 where none was asked for."""
        return self.scored / self.attempts if self.attempts else 0.0

    @property
    def flaky(self) -> tuple[str, ...]:
        """Tasks whose scored draws differ in a mark."""
        return tuple(
            task_id
            for task_id, marks in self.draws.items()
            if len({mark for mark in marks if not mark.broken}) > 1
        )

    def values(self, metric: Metric) -> dict[str, list[float]]:
        """The scores of each task under a metric, those of its draws that have one."""
        return {
            task_id: [value for m in marks if (value := m.under(metric)) is not None]
            for task_id, marks in self.draws.items()
        }


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Two skills on the tasks that both have a score for.

    Attributes:
        first, second: names of the skills.
        gain: mean of the second less mean of the first; None where no task is common.
        won, lost, tied: tasks on which the second is better, worse or alike.
        interval: 95 % confidence interval of the gain; None where no task is common.
        p_value: of the exact two-sided sign-flip test; repeats are averaged inside a task.
        p_corrected: the same, corrected by Holm for all pairs compared at once.
    """

    first: str
    second: str
    gain: float | None
    won: int
    lost: int
    tied: int
    interval: tuple[float, float] | None
    p_value: float
    p_corrected: float


def mean_mark(marks: Sequence[Mark]) -> Mark:
    """The mean of the marks that are not broken; broken where all are."""
    hard = [v for m in marks if (v := m.under(HARD)) is not None]
    soft = [v for m in marks if (v := m.under(SOFT)) is not None]
    if not hard or not soft:
        return BROKEN
    return Mark(min(1.0, math.fsum(hard) / len(hard)), min(1.0, math.fsum(soft) / len(soft)))


def compared(arms: Mapping[str, Repeated], metric: Metric) -> tuple[PairedComparison, ...]:
    """Every pair of arms, each on the tasks that both have a score for."""
    values = {name: arm.values(metric) for name, arm in arms.items()}
    pairs = {(a, b): paired_differences(values[a], values[b]) for a, b in combinations(arms, 2)}
    chances = [found.p_value() for found in pairs.values()]
    return tuple(
        _comparison(names, found, chance, sure)
        for (names, found), chance, sure in zip(
            pairs.items(), chances, corrected(chances), strict=True
        )
    )


def _comparison(
    names: tuple[str, str], found: PairedDifferences, chance: float, sure: float
) -> PairedComparison:
    return PairedComparison(
        *names,
        gain=found.gain,
        won=found.won,
        lost=found.lost,
        tied=found.n - found.won - found.lost,
        interval=found.interval,
        p_value=chance,
        p_corrected=sure,
    )
