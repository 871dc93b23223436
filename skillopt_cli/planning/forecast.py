"""A forecast of the work of a training, and the assumptions it rests on.

A number is a range with a likely point in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

from skillopt_cli.core.events import Role


@dataclass(frozen=True, slots=True)
class Range:
    """At least `low`, likely `point`, at most `high`."""

    low: float = 0.0
    point: float = 0.0
    high: float = 0.0

    @classmethod
    def of(cls, number: float) -> Range:
        """A number that is known."""
        return cls(number, number, number)

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.point + other.point, self.high + other.high)

    def maybe(self, chance: float) -> Range:
        """What may not be needed."""
        return Range(0.0, chance * self.point, self.high)

    def less(self, other: Range) -> Range:
        """What is left once the likely number of the other is made."""
        return Range(*(max(0.0, n - other.point) for n in (self.low, self.point, self.high)))

    def __mul__(self, factor: Range | float) -> Range:
        by = factor if isinstance(factor, Range) else Range.of(factor)
        return Range(self.low * by.low, self.point * by.point, self.high * by.high)

    def per(self, number: int) -> Range:
        """So many rounds of `number` at a time."""
        return Range(*(float(math.ceil(n / number)) for n in (self.low, self.point, self.high)))

    def likely(self, point: float | None) -> Range:
        """The range with another point, which it is made to hold; the same where that is None."""
        if point is None:
            return self
        return Range(min(self.low, point), point, max(self.high, point))


def whole_parts(parts: Sequence[Range]) -> list[Range]:
    """The parts in whole numbers that add up to their sum as it is rounded, end by end."""
    ends = [[astuple(part)[end] for part in parts] for end in range(3)]
    return [Range(*one) for one in zip(*map(_whole, ends), strict=True)]


def _whole(parts: Sequence[float]) -> list[float]:
    """Each part without its fraction, or where that is among the largest, the number above."""
    below = [math.floor(part) for part in parts]
    missing = round(sum(parts)) - sum(below)
    by_fraction = sorted(range(len(parts)), key=lambda place: below[place] - parts[place])
    return [float(n + (place in by_fraction[:missing])) for place, n in enumerate(below)]


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is known of a training before it; None where a default guess is used.

    Attributes:
        accuracy: share of train tasks that are solved; decides how many analysts are asked.
        best_step: the last step that makes a new best skill, 0 for none.
        unchanged: share of the texts made, by steps and by the ends of epochs, that are no new
            ones, so that nothing is measured.
        measured: share of the selection split that is measured of a candidate, where early
            rejection may end that.
        latency: seconds a call takes, of any role.
        passing: share of edits that pass verification, and of failed tasks they solve.
        trials: attempts that verify a step's edits, per failed task of the step.
        last_step: the step after which the run ends early.
        tested: texts that the final test compares, beside that without a skill.
        blocks: blocks of the best skill that pruning tries to remove.
    """

    accuracy: float | None = None
    best_step: int | None = None
    unchanged: float | None = None
    measured: float | None = None
    latency: float | None = None
    passing: float | None = None
    trials: float | None = None
    last_step: int | None = None
    tested: int | None = None
    blocks: int | None = None

    @property
    def solved(self) -> Range:
        """The share of train tasks that are solved."""
        return Range(0.0, 0.5, 1.0) if self.accuracy is None else Range.of(self.accuracy)

    def without(self, others: Assumptions) -> Assumptions:
        """These values, without those that the others have."""
        pairs = zip(astuple(self), astuple(others), strict=True)
        return Assumptions(*(mine if theirs is None else None for mine, theirs in pairs))

    def or_else(self, others: Assumptions) -> Assumptions:
        """These values and, where one is None, that of the others."""
        pairs = zip(astuple(self), astuple(others), strict=True)
        return Assumptions(*(theirs if mine is None else mine for mine, theirs in pairs))


@dataclass(frozen=True, slots=True)
class Amount:
    """Work of one kind, and the time it takes.

    Attributes:
        attempts: at tasks, by stage.
        calls: of the optimizer, by stage.
        seconds: at the run's concurrency, if every call takes what one of its role is said to.
    """

    attempts: Mapping[str, Range] = field(default_factory=dict)
    calls: Mapping[str, Range] = field(default_factory=dict)
    seconds: Range = Range()

    @property
    def rollouts(self) -> Range:
        """Attempts at tasks, all stages together."""
        return sum(self.attempts.values(), Range())

    @property
    def asked(self) -> Range:
        """Calls of the optimizer, all stages together."""
        return sum(self.calls.values(), Range())

    def maybe(self, chance: float = 1.0) -> Amount:
        """Work that may not be reached."""
        attempts, calls = (
            {stage: number.maybe(chance) for stage, number in numbers.items()}
            for numbers in (self.attempts, self.calls)
        )
        return Amount(attempts, calls, self.seconds.maybe(chance))

    def without(self, made: Amount) -> Amount:
        """What is left of this work once some of it is made; time shrinks as the work does."""
        attempts, calls = (
            {stage: number.less(known.get(stage, Range())) for stage, number in numbers.items()}
            for numbers, known in ((self.attempts, made.attempts), (self.calls, made.calls))
        )
        left, whole = Amount(attempts, calls), (self.rollouts + self.asked).point
        share = (left.rollouts + left.asked).point / whole if whole else 1.0
        return replace(left, seconds=self.seconds * share)

    def likely(self, other: Amount) -> Amount:
        """This work with the likely values of the other."""
        return Amount(
            _likely(self.attempts, other.attempts),
            _likely(self.calls, other.calls),
            self.seconds.likely(other.seconds.point),
        )

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            _added(self.attempts, other.attempts),
            _added(self.calls, other.calls),
            self.seconds + other.seconds,
        )


def _added(these: Mapping[str, Range], those: Mapping[str, Range]) -> dict[str, Range]:
    stages = dict.fromkeys((*these, *those))
    return {stage: these.get(stage, Range()) + those.get(stage, Range()) for stage in stages}


def _likely(these: Mapping[str, Range], those: Mapping[str, Range]) -> dict[str, Range]:
    return {s: number.likely(those.get(s, Range()).point) for s, number in these.items()}


@dataclass(frozen=True, slots=True)
class AttemptCalls:
    """The calls that an attempt at a task makes.

    Attributes:
        turns: calls of the target, at least one.
        verdicts: calls of the judge; none where no answer is judged.
    """

    turns: Range = Range(1.0, 1.0, 1.0)
    verdicts: Range = Range()


ONE_CALL = AttemptCalls()


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a training takes, in the order it is spent.

    Attributes:
        steps: of the run, if they are reached, each with the epoch's end that follows it.
        reached: how likely each of them is.
        models: preflight calls, one per role with a model; 0 without a preflight.
        attempt: how many calls an attempt makes.
        pruning: of the best skill, before the test.
    """

    baseline: Amount
    steps: tuple[Amount, ...]
    reached: tuple[float, ...]
    test: Amount
    models: int
    attempt: AttemptCalls = ONE_CALL
    pruning: Amount = field(default_factory=Amount)

    def likely(self, other: Forecast) -> Forecast:
        """This forecast with the likely values of the other one, which has no more steps."""
        fewer = len(self.steps) - len(other.steps)
        pairs = zip(self.steps, (*other.steps, *[Amount()] * fewer), strict=True)
        return replace(
            self,
            baseline=self.baseline.likely(other.baseline),
            steps=tuple(mine.likely(theirs) for mine, theirs in pairs),
            reached=(*other.reached, *[0.0] * fewer),
            test=self.test.likely(other.test),
            pruning=self.pruning.likely(other.pruning),
        )

    @property
    def training(self) -> Amount:
        """All steps: before each the run may end, out of patience or with every task solved."""
        pairs = zip(self.steps, self.reached, strict=True)
        return sum((step.maybe(chance) for step, chance in pairs), Amount())

    @property
    def total(self) -> Amount:
        """All of it."""
        return self.baseline + self.training + self.pruning + self.test

    def calls_of(self, amount: Amount) -> dict[Role, Range]:
        """Answered calls that work takes, by role."""
        rollouts, attempt = amount.rollouts, self.attempt
        return {
            "target": rollouts * attempt.turns,
            "judge": rollouts * attempt.verdicts,
            "optimizer": amount.asked,
        }

    @property
    def calls(self) -> Range:
        """Answered calls of all roles, those of the preflight included."""
        return sum(self.calls_of(self.total).values(), Range.of(self.models))
