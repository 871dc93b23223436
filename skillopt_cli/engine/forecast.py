"""Forecast: what a training will take, counted by the rules its stages follow themselves. Pure.

A number is a range with a point in it: what is likely, and what could be less or more. What nobody
can know before is assumed, and said (`Assumptions`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt_cli.config import RunConfig
from skillopt_cli.core.batches import cut, merging_calls
from skillopt_cli.core.pairs import PairPolicy
from skillopt_cli.core.plan import StepPlan, TrainPlan
from skillopt_cli.core.task import Split
from skillopt_cli.stages.compare import waves
from skillopt_cli.stages.rank import exceeds

EDITS_PER_PATCH = 2
"""Edits that an analyst proposes, where that decides whether they must be ranked."""
MEASURED_BEFORE_REJECT = 0.7
"""Share of the selection split measured of a candidate, with early rejection."""
SUCCESSES_PROPOSE = 0.2
"""Share of the analyses of successes that propose an edit; mostly there is little to add."""
DIFFERING = 0.2
"""Share of tasks on which two skills differ."""
TRIES = 2
"""An answer of the optimizer that cannot be used is asked for once more."""
SHOWN: Mapping[PairPolicy, float] = {"mixed": 1, "changed": DIFFERING, "unchanged": 1 - DIFFERING}
"""Share of the compared tasks that a policy wants shown."""


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

    def __mul__(self, factor: Range | float) -> Range:
        by = factor if isinstance(factor, Range) else Range.of(factor)
        return Range(self.low * by.low, self.point * by.point, self.high * by.high)

    def per(self, number: int) -> Range:
        """So many rounds of `number` at a time."""
        return Range(*(float(math.ceil(n / number)) for n in (self.low, self.point, self.high)))


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is taken for granted.

    Attributes:
        accuracy: share of train tasks that are solved; decides how many analysts are asked.
        latency: seconds a call takes.
    """

    accuracy: Range = Range(0.0, 0.5, 1.0)
    latency: float = 2.0


@dataclass(frozen=True, slots=True)
class Amount:
    """Work of one kind: attempts at tasks, calls of the optimizer by stage, and the time it takes.

    Attributes:
        seconds: at the run's concurrency, if every call takes the assumed latency.
    """

    rollouts: Range = Range()
    calls: Mapping[str, Range] = field(default_factory=dict)
    seconds: Range = Range()

    @property
    def asked(self) -> Range:
        """Calls of the optimizer, all stages together."""
        return sum(self.calls.values(), Range())

    def __add__(self, other: Amount) -> Amount:
        stages = dict.fromkeys((*self.calls, *other.calls))
        return Amount(
            self.rollouts + other.rollouts,
            {s: self.calls.get(s, Range()) + other.calls.get(s, Range()) for s in stages},
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a training takes, in the order it is spent.

    Attributes:
        steps: of the run, each with the epoch's end that follows it.
        models: preflight calls, one per role with a model.
    """

    baseline: Amount
    steps: tuple[Amount, ...]
    test: Amount
    models: int

    @property
    def total(self) -> Amount:
        """All of it."""
        return sum(self.steps, self.baseline) + self.test

    @property
    def calls(self) -> Range:
        """Answered calls of both roles."""
        return self.total.rollouts + self.total.asked + Range.of(self.models)


@dataclass(frozen=True, slots=True)
class Forecaster:
    """Counts the work of a training.

    Attributes:
        sizes: tasks in use of each split.
        asks: whether the optimizer is a model; one that is none makes no calls.
        seeded: whether the seed skill says anything; else it is the test's arm without a skill.
        done: steps recorded for good; what is left is forecast. None before the baseline is.
    """

    config: RunConfig
    plan: TrainPlan
    sizes: Mapping[Split, int]
    asks: bool
    assumed: Assumptions = Assumptions()
    seeded: bool = True
    done: int | None = None

    def forecast(self) -> Forecast:
        """The whole training, or what is left of it."""
        baseline, test = self._attempts(Range.of(self.sizes["selection"])), self._test()
        if self.done is not None:
            # What a step was at, and what was tested, may be in the journal already.
            baseline, test = Amount(), _maybe(test)
        return Forecast(
            baseline=baseline,
            # Before any step the run may end: for want of patience, or with every task solved.
            steps=tuple(_maybe(self._step(step)) for step in self.plan.after(self.done or 0)),
            test=test,
            models=2 if self.asks else 1,
        )

    def _step(self, step: StepPlan) -> Amount:
        tasks = self.plan.size(step)
        made = self._attempts(Range.of(tasks)) + self._reflection(tasks, step.edit_budget)
        made += self._attempts(self._measurement())
        return made + self._epoch_end() if step.closes_epoch and step.epoch > 1 else made

    def _reflection(self, tasks: int, budget: int | None) -> Amount:
        """From analysts to a candidate."""
        if not self.asks:
            return Amount()
        settings, size = self.config.optimizer, self.config.gradient.merge_batch_size
        accuracy = self.assumed.accuracy
        solved = range(math.floor(tasks * accuracy.low), math.ceil(tasks * accuracy.high) + 1)
        cuts = [self._minibatches(tasks - n, n) for n in solved]
        likely = self._minibatches(*_split(tasks, accuracy.point))
        analysts = [sum(pair) for pair in cuts]
        merges = [_merges(pair, size) for pair in cuts]
        calls = {"reflect": Range(min(analysts), sum(likely), max(analysts) * TRIES)}
        # Analysts may propose nothing, and then there is nothing to merge.
        calls["aggregate"] = Range(0, _likely_merges(likely, size), max(merges) * TRIES)
        failing, solving = likely
        proposed = 1.0 if failing else 1 - (1 - SUCCESSES_PROPOSE) ** solving
        if settings.rate_control == "autonomous":
            calls["learning_rate"] = Range(0, proposed, TRIES)
        if settings.rate_control != "none":
            edits = math.ceil(EDITS_PER_PATCH * (failing + SUCCESSES_PROPOSE * solving))
            ranked = proposed if exceeds(edits, budget) else 0
            calls["select"] = Range(0, ranked, TRIES)
        if settings.skill_update_mode == "rewrite_from_suggestions":
            calls["update"] = Range(0, proposed, TRIES)
        if settings.use_skill_aware_reflection and settings.skill_aware_consolidate_threshold:
            calls["appendix_consolidate"] = Range(0, 0, TRIES)
        return self._asked(calls)

    def _minibatches(self, failures: int, successes: int) -> tuple[int, int]:
        """Analysts asked about failures, and about successes."""
        size = self.config.gradient.minibatch_size
        if self.config.gradient.failure_only:
            successes = 0
        return len(cut(range(failures), size)), len(cut(range(successes), size))

    def _measurement(self) -> Range:
        """Attempts of measuring a candidate: none where no edit changed the skill."""
        selection, evaluation = self.sizes["selection"], self.config.evaluation
        early = evaluation.early_reject and evaluation.use_gate
        share = MEASURED_BEFORE_REJECT if early else 1.0
        return Range(0, math.ceil(share * selection), selection)

    def _epoch_end(self) -> Amount:
        """From the second epoch on: the same tasks under two skills, then guidance and notes."""
        settings = self.config.optimizer
        if not (settings.use_slow_update or settings.use_meta_skill):
            return Amount()
        train, selection = self.sizes["train"], self.sizes["selection"]
        shown = min(settings.slow_update_samples, train)
        tried = waves(train, settings.slow_update_samples)
        share = SHOWN[settings.longitudinal_pair_policy]
        likely = tried[: math.ceil(shown / share / settings.slow_update_samples)]
        most = tried[:1] if share == 1 else tried
        made = self._attempts(Range(0, 2 * sum(likely), 2 * sum(most)))
        calls = {}
        if settings.use_slow_update:
            calls["slow_update"] = Range(0, 1, TRIES)
            gated = settings.slow_update_gate_with_selection
            forced = Range(0, self._texts - 1, 2) * selection
            texts = self._measurement() if gated else forced
            made += self._attempts(texts)
        if settings.use_meta_skill:
            calls["meta_skill"] = Range(0, 1, TRIES)
        return made + self._asked(calls) if self.asks else made

    @property
    def _texts(self) -> int:
        """Seed, best and final skill: with a gate the last two mostly are one text."""
        return 2 if self.config.evaluation.use_gate else 3

    def _test(self) -> Amount:
        """The final test; equal texts are attempted once."""
        evaluation = self.config.evaluation
        if not evaluation.eval_test:
            return Amount()
        arms = Range(1, self._texts, 3)
        if evaluation.eval_no_skill:
            arms += Range(0, self.seeded, self.seeded)
        return self._attempts(arms * self.sizes["test"])

    def _attempts(self, rollouts: Range) -> Amount:
        run = self.config.run
        rounds = rollouts.per(min(run.workers, run.max_concurrency))
        return Amount(rollouts=rollouts, seconds=rounds * self.assumed.latency)

    def _asked(self, calls: Mapping[str, Range]) -> Amount:
        workers = min(self.config.gradient.analyst_workers, self.config.run.max_concurrency)
        rounds = sum((number.per(workers) for number in calls.values()), Range())
        return Amount(calls=calls, seconds=rounds * self.assumed.latency)


def _split(tasks: int, accuracy: float) -> tuple[int, int]:
    """Failures and successes."""
    solved = round(tasks * accuracy)
    return tasks - solved, solved


def _merges(patches: tuple[int, int], size: int) -> int:
    """Calls that merge each side's patches, and both sides at last."""
    return sum(merging_calls(side, size) for side in patches) + (min(patches) > 0)


def _likely_merges(patches: tuple[int, int], size: int) -> float:
    """The same over all cases of which analyses of successes propose an edit."""
    failures, successes = patches
    return sum(
        math.comb(successes, n)
        * SUCCESSES_PROPOSE**n
        * (1 - SUCCESSES_PROPOSE) ** (successes - n)
        * _merges((failures, n), size)
        for n in range(successes + 1)
    )


def _maybe(amount: Amount) -> Amount:
    """Work that may not be reached."""
    calls = {stage: Range(0, n.point, n.high) for stage, n in amount.calls.items()}
    rollouts, seconds = amount.rollouts, amount.seconds
    return Amount(
        Range(0, rollouts.point, rollouts.high), calls, Range(0, seconds.point, seconds.high)
    )


def detectable_gain(n: int, changed: float = DIFFERING) -> float:
    """The gain that `n` paired tasks show four times in five, at the 5 % level, one-sided.

    Normal approximation of the paired (McNemar) test: (z95 + z80) sqrt(changed / n), capped at 1.

    Args:
        changed: share of tasks on which the two skills differ.
    """
    return min(1.0, (1.6449 + 0.8416) * math.sqrt(changed / n)) if n else 1.0
