"""Scores, and means that know about broken attempts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from skillopt_cli.core.plugin_values import bounded_text, number, text, texts
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
    """How right an answer is. What a plug-in puts in it is converted as in `plugin_values`.

    Attributes:
        hard: all or nothing in most benchmarks, in [0, 1].
        soft: partial credit, in [0, 1].
        feedback: an explanation for a person; the only text of a scorer that reflection sees.
        expected: reference answers that may be shown, for *train* tasks, to reflection.
        private: for people only.

    Raises:
        TypeError: a value can be none of its kind.
        ValueError: a number is outside [0, 1].
    """

    hard: float
    soft: float
    feedback: str = ""
    expected: tuple[str, ...] = ()
    private: Private = field(default_factory=Private)

    def __post_init__(self) -> None:
        hard, soft = number(self.hard, "hard score"), number(self.soft, "soft score")
        for name, value in (("hard", hard), ("soft", soft)):
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} score {value} is outside [0, 1]")
        private = self.private
        if not isinstance(private, Private):
            private = Private(text(private, "private"))
        # Frozen for everybody else.
        put = object.__setattr__
        put(self, "hard", hard)
        put(self, "soft", soft)
        put(self, "feedback", bounded_text(self.feedback, "feedback"))
        put(self, "expected", texts(self.expected, "expected"))
        put(self, "private", private)


@dataclass(frozen=True, slots=True)
class Metric:
    """The number a gate compares: hard, soft, or (1 - weight) hard + weight soft."""

    name: MetricName = "hard"
    weight: float = 0.5

    def __call__(self, score: Score) -> float:
        """The score under this metric, in [0, 1]."""
        return self.mixed(score.hard, score.soft)

    def mixed(self, hard: float, soft: float) -> float:
        """A hard and a soft score as one number."""
        if self.name == "hard":
            return hard
        if self.name == "soft":
            return soft
        return (1 - self.weight) * hard + self.weight * soft


HARD = Metric("hard")
SOFT = Metric("soft")


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One attempt with its score, None exactly when it is broken or made for its answer alone.

    Attributes:
        unscored: whether it was made for its answer alone.
    """

    task: Task
    attempt: Attempt
    score: Score | None
    unscored: bool = False

    def __post_init__(self) -> None:
        if (self.score is None) != (self.broken or self.unscored):
            raise ValueError("a trajectory has a score exactly when its attempt is not broken")

    @property
    def broken(self) -> bool:
        """Whether the attempt could not be made, or not be scored."""
        return self.attempt.ending == "broken"

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
    def broken(self) -> bool:
        """Whether no attempt gave a score."""
        return self.hard is None or self.soft is None

    def under(self, metric: Metric) -> float | None:
        """The score under a metric, in [0, 1]; None when the attempt was broken."""
        if self.hard is None or self.soft is None:
            return None
        return metric.mixed(self.hard, self.soft)


BROKEN = Mark(None, None)
FULL = Mark(1.0, 1.0)


def mark(score: Score | None) -> Mark:
    """The numbers of a score."""
    return BROKEN if score is None else Mark(score.hard, score.soft)


def _pooled(mean: Mark, fresh: Mark, draws: int) -> Mark:
    """The mean of `draws` marks and a fresh one; a broken one counts for nothing."""
    if mean.hard is None or mean.soft is None or fresh.hard is None or fresh.soft is None:
        return fresh if mean.hard is None else mean
    hard = (mean.hard * draws + fresh.hard) / (draws + 1)
    soft = (mean.soft * draws + fresh.soft) / (draws + 1)
    return Mark(hard, soft)


@dataclass(frozen=True, slots=True)
class Measured:
    """A skill and its marks, one per task of a split, in file order.

    Made only by `stages.measure`: a score never travels without the text it was measured on.

    Attributes:
        draws: measurements that the marks are the means of.
    """

    skill: SkillDocument
    marks: Mapping[str, Mark] = field(default_factory=dict)
    draws: int = 1

    def pooled(self, again: Measured) -> Measured:
        """The mean of each task's marks over all draws, with one more measurement of the text."""
        marks = {t: _pooled(m, again.marks[t], self.draws) for t, m in self.marks.items()}
        return Measured(self.skill, marks, self.draws + 1)

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

    def mean(self, metric: Metric = HARD) -> float | None:
        """Mean over scored tasks; None when nothing was scored."""
        values = [v for m in self.marks.values() if (v := m.under(metric)) is not None]
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
