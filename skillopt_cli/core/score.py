"""Scores, and means that know about broken attempts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Task

MetricName = Literal["hard", "soft", "mixed"]


@dataclass(frozen=True, slots=True)
class Private:
    """What a scorer knows that no model may: a judge's words, a test's text, a checker's pattern.

    Kept in the trajectory's file for people. A type of its own, so that it cannot be mistaken for
    feedback.
    """

    text: str = ""

    def __str__(self) -> str:
        return "(private)"


@dataclass(frozen=True, slots=True)
class Score:
    """How right an answer is.

    Attributes:
        hard: all or nothing in most benchmarks, in [0, 1].
        soft: partial credit, in [0, 1].
        feedback: what a person would be told; the only text of a scorer that reflection sees.
        expected: reference answers that may be shown, for *train* tasks, to reflection.
        private: for people only.
    """

    hard: float
    soft: float
    feedback: str = ""
    expected: tuple[str, ...] = ()
    private: Private = field(default_factory=Private)

    def __post_init__(self) -> None:
        for name, value in (("hard", self.hard), ("soft", self.soft)):
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} score {value} is outside [0, 1]")


@dataclass(frozen=True, slots=True)
class Metric:
    """The number a gate compares: hard, soft, or (1 - weight) hard + weight soft."""

    name: MetricName = "hard"
    weight: float = 0.5

    def __call__(self, score: Score) -> float:
        """The score under this metric, in [0, 1]."""
        if self.name == "hard":
            return score.hard
        if self.name == "soft":
            return score.soft
        return (1 - self.weight) * score.hard + self.weight * score.soft


HARD = Metric("hard")
SOFT = Metric("soft")


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One scored attempt. `score` is None exactly when the attempt is broken."""

    task: Task
    attempt: Attempt
    score: Score | None

    def __post_init__(self) -> None:
        if (self.score is None) != (self.attempt.ending == "broken"):
            raise ValueError("a trajectory has a score exactly when its attempt is not broken")

    @property
    def failed(self) -> bool:
        """Whether this is a scored failure: a hard score below 1 (method, section 1)."""
        return self.score is not None and self.score.hard < 1.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A task's score in a measurement, without the texts; both None when broken."""

    hard: float | None
    soft: float | None

    @property
    def score(self) -> Score | None:
        """The mark as a score, None when the attempt was broken."""
        return None if self.hard is None or self.soft is None else Score(self.hard, self.soft)


BROKEN = Mark(None, None)


def mark(score: Score | None) -> Mark:
    """The numbers of a score."""
    return BROKEN if score is None else Mark(score.hard, score.soft)


@dataclass(frozen=True, slots=True)
class Measured:
    """A skill and its marks, one per task of a split, in file order.

    Made only by `stages.measure`: a score never travels without the text it was measured on.
    """

    skill: SkillDocument
    marks: Mapping[str, Mark] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Tasks asked for."""
        return len(self.marks)

    @property
    def scored(self) -> int:
        """Tasks with a score."""
        return sum(m.hard is not None for m in self.marks.values())

    @property
    def coverage(self) -> float:
        """Share of tasks with a score, in [0, 1]; 0 for an empty split."""
        return self.scored / self.n if self.n else 0.0

    @property
    def hard(self) -> float | None:
        """Mean hard score."""
        return self.mean(HARD)

    @property
    def soft(self) -> float | None:
        """Mean soft score."""
        return self.mean(SOFT)

    def mean(self, metric: Callable[[Score], float] = HARD) -> float | None:
        """Mean over scored tasks; None when nothing was scored."""
        values = [metric(s) for m in self.marks.values() if (s := m.score) is not None]
        return math.fsum(values) / len(values) if values else None


@dataclass(frozen=True, slots=True)
class Settled:
    """A measurement stopped early because its verdict is already `reject` (decision 3).

    Attributes:
        marks: the shortest prefix, in the fixed order, that settles the verdict.
        bound: the largest mean the candidate could still have reached on the common tasks.
        n: tasks in the split.
    """

    skill: SkillDocument
    marks: Mapping[str, Mark]
    bound: float
    n: int

    hard: None = None
    soft: None = None
