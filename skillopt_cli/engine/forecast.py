"""Forecast: what a training will take, counted by the rules its stages follow themselves. Pure.

A number is a range with a point in it: what is likely, and what could be less or more. What nobody
can know before is assumed, and said (`Assumptions`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from skillopt_cli.config import RunConfig
from skillopt_cli.core.batches import cut, merging_calls
from skillopt_cli.core.chances import binomial
from skillopt_cli.core.pairs import PairPolicy
from skillopt_cli.core.plan import StepPlan, TrainPlan
from skillopt_cli.core.resolution import CHANGED
from skillopt_cli.core.task import Split
from skillopt_cli.stages.compare import waves
from skillopt_cli.stages.rank import exceeds

EDITS_PER_PATCH = 2
"""Edits that an analyst proposes, where that decides whether they must be ranked."""
MEASURED_BEFORE_REJECT = 0.7
"""Share of the selection split measured of a candidate, with early rejection."""
SUCCESSES_PROPOSE = 0.2
"""Share of the analyses of successes that propose an edit; mostly there is little to add."""
TRIES = 2
"""An answer of the optimizer that cannot be used is asked for once more."""

Chances = Mapping[tuple[int, int], float]
"""How likely so many are about failures, and so many about successes."""


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
        best_step: the last step that makes a new best skill, 0 for none; None if that is not known.
    """

    accuracy: Range = Range(0.0, 0.5, 1.0)
    latency: float = 2.0
    best_step: int | None = None


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
            steps=tuple(self._steps()),
            test=test,
            models=2 if self.asks else 1,
        )

    @property
    def _last(self) -> int:
        """The step after which the run ends: at the latest, when patience has run out."""
        evaluation, best = self.config.evaluation, self.assumed.best_step
        if best is None or not evaluation.patience or not evaluation.use_gate:
            return self.plan.total
        return min(self.plan.total, best + evaluation.patience)

    def _steps(self) -> Iterator[Amount]:
        known: dict[tuple[int, int | None], Amount] = {}
        for step in self.plan.after(self.done or 0):
            if step.number > self._last:
                return
            alike = (self.plan.size(step), step.edit_budget)
            if alike not in known:
                known[alike] = self._step(*alike)
            ends = step.closes_epoch and step.epoch > 1
            # Before any step the run may end: for want of patience, or with every task solved.
            yield _maybe(known[alike] + self._epoch_end(step) if ends else known[alike])

    def _step(self, tasks: int, budget: int | None) -> Amount:
        made = self._attempts(Range.of(tasks)) + self._reflection(tasks, budget)
        return made + self._attempts(self._measurement())

    def _reflection(self, tasks: int, budget: int | None) -> Amount:
        """From analysts to a candidate."""
        if not self.asks:
            return Amount()
        settings, size = self.config.optimizer, self.config.gradient.merge_batch_size
        accuracy = self.assumed.accuracy
        solved = range(math.floor(tasks * accuracy.low), math.ceil(tasks * accuracy.high) + 1)
        cuts = [self._minibatches(tasks - n, n) for n in solved]
        analysts = [sum(pair) for pair in cuts]
        merges = [_merges(pair, size) for pair in cuts]
        asked = self._analysts(tasks)
        patches = _proposing(asked)
        calls = {"reflect": Range(min(analysts), _mean(asked, sum), max(analysts) * TRIES)}
        # Analysts may propose nothing, and then there is nothing to merge.
        likely = _mean(patches, lambda pair: _merges(pair, size))
        calls["aggregate"] = Range(0, likely, max(merges) * TRIES)
        proposed = _mean(patches, lambda pair: sum(pair) > 0)
        if settings.rate_control == "autonomous":
            calls["learning_rate"] = Range(0, proposed, TRIES)
        if settings.rate_control != "none":
            ranked = _mean(patches, lambda pair: exceeds(EDITS_PER_PATCH * sum(pair), budget))
            calls["select"] = Range(0, ranked, TRIES)
        if settings.skill_update_mode == "rewrite_from_suggestions":
            calls["update"] = Range(0, proposed, TRIES)
        if settings.use_skill_aware_reflection and settings.skill_aware_consolidate_threshold:
            calls["appendix_consolidate"] = Range(0, 0, TRIES)
        return self._asked(calls)

    def _analysts(self, tasks: int) -> Chances:
        """Those asked in a step, by how many of its tasks may be solved."""
        chances: dict[tuple[int, int], float] = {}
        for solved, chance in enumerate(binomial(tasks, self.assumed.accuracy.point)):
            pair = self._minibatches(tasks - solved, solved)
            chances[pair] = chances.get(pair, 0.0) + chance
        return chances

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

    def _epoch_end(self, step: StepPlan) -> Amount:
        """From the second epoch on: the same tasks under two skills, then guidance and notes."""
        settings = self.config.optimizer
        if not (settings.use_slow_update or settings.use_meta_skill):
            return Amount()
        made, calls = self._attempts(self._comparison(step)), {}
        if settings.use_slow_update:
            calls["slow_update"] = Range(0, 1, TRIES)
            # What is injected by force makes a new text of the current and of the best skill.
            texts = 1 if self._leads(step.number) else 2
            forced = Range(0, texts, 2) * self.sizes["selection"]
            gated = settings.slow_update_gate_with_selection
            made += self._attempts(self._measurement() if gated else forced)
        if settings.use_meta_skill:
            calls["meta_skill"] = Range(0, 1, TRIES)
        return made + self._asked(calls) if self.asks else made

    def _comparison(self, step: StepPlan) -> Range:
        """Attempts under the skill of the epoch before and that of this one; one text is one."""
        train, samples = self.sizes["train"], self.config.optimizer.slow_update_samples
        best, before = self.assumed.best_step, step.number - self.plan.steps_per_epoch
        same = self.config.evaluation.use_gate and best is not None and best <= before
        share = self._shown(0.0 if same else CHANGED)
        tried = waves(train, samples)
        needed = math.ceil(tried[0] / share / samples) if share else len(tried)
        most = tried[:1] if share == 1 else tried
        return Range(0, (1 if same else 2) * sum(tried[:needed]), 2 * sum(most))

    def _shown(self, changed: float) -> float:
        """Share of the compared tasks that are shown.

        Under two skills that solve a share `a`, no more than 2 min(a, 1 - a) come out differently.
        """
        accuracy = self.assumed.accuracy.point
        changed = min(changed, 2 * accuracy, 2 * (1 - accuracy))
        shown: Mapping[PairPolicy, float] = {"changed": changed, "unchanged": 1 - changed}
        return shown.get(self.config.optimizer.longitudinal_pair_policy, 1.0)

    def _leads(self, number: int) -> bool:
        """Whether the skill is the best one after a step: with a gate it mostly is."""
        return self.config.evaluation.use_gate or self.assumed.best_step == number

    @property
    def _guided(self) -> bool:
        """Whether guidance is injected by force, from the end of the second epoch on."""
        settings = self.config.optimizer
        forced = settings.use_slow_update and not settings.slow_update_gate_with_selection
        return forced and self._last >= 2 * self.plan.steps_per_epoch

    def _test(self) -> Amount:
        """The final test; equal texts are attempted once."""
        evaluation = self.config.evaluation
        if not evaluation.eval_test:
            return Amount()
        best = 0 if self.assumed.best_step == 0 and not self._guided else 1
        arms = Range(1, 1 + best + (not self._leads(self._last)), 3)
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


def _merges(patches: tuple[int, int], size: int) -> int:
    """Calls that merge each side's patches, and both sides at last."""
    return sum(merging_calls(side, size) for side in patches) + (min(patches) > 0)


def _proposing(analysts: Chances) -> Chances:
    """Analysts with an edit to propose: all of those of failures, some of those of successes."""
    chances: dict[tuple[int, int], float] = {}
    for (failures, successes), asked in analysts.items():
        for proposing, chance in enumerate(binomial(successes, SUCCESSES_PROPOSE)):
            pair = (failures, proposing)
            chances[pair] = chances.get(pair, 0.0) + asked * chance
    return chances


def _mean(chances: Chances, count: Callable[[tuple[int, int]], float]) -> float:
    return sum(chance * count(pair) for pair, chance in chances.items())


def _maybe(amount: Amount) -> Amount:
    """Work that may not be reached."""
    calls = {stage: Range(0, n.point, n.high) for stage, n in amount.calls.items()}
    rollouts, seconds = amount.rollouts, amount.seconds
    return Amount(
        Range(0, rollouts.point, rollouts.high), calls, Range(0, seconds.point, seconds.high)
    )
