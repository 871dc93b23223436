"""The forecaster: counts the work of a training by the rules its stages follow themselves. Pure.

What nobody can know before is assumed, and said (`Assumptions`). Where several outcomes are
possible, the point is what they come to on average, and the range holds all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from skillopt_cli.config import RunConfig
from skillopt_cli.core.batches import cut, merging_calls
from skillopt_cli.core.chances import binomial
from skillopt_cli.core.events import StageName
from skillopt_cli.core.pairs import PairPolicy
from skillopt_cli.core.plan import StepPlan, TrainPlan
from skillopt_cli.core.resolution import CHANGED
from skillopt_cli.core.task import Split
from skillopt_cli.engine.forecast import ONE_CALL, Amount, Assumptions, Course, Forecast, Range
from skillopt_cli.stages.compare import waves
from skillopt_cli.stages.rank import exceeds

EDITS_PER_PATCH = 2
"""Edits that an analyst proposes, where that decides whether they must be ranked."""
MEASURED_BEFORE_REJECT = 0.7
"""Share of the selection split measured of a candidate, with early rejection, if none is told."""
SUCCESSES_PROPOSE = 0.2
"""Share of the analyses of successes that propose an edit; mostly there is little to add."""
ACCEPTED = 0.3
"""Share of candidates accepted, where that decides how long patience lasts and what is tested."""
RATES_NOTHING = 0.1
"""Share of steps whose rate, set by the optimizer itself, lets no edit through."""
TRIES = 2
"""An answer of the optimizer that cannot be used is asked for once more."""

Chances = Mapping[tuple[int, int], float]
"""How likely so many are about failures, and so many about successes."""


@dataclass(frozen=True, slots=True)
class Forecaster:
    """Counts the work of a training.

    Attributes:
        sizes: tasks in use of each split.
        asks: whether the optimizer is a model; one that is none makes no calls.
        seeded: whether the seed skill says anything; else it is the test's arm without a skill.
        done: steps recorded for good; what is left is forecast. None before the baseline is.
        course: how an attempt goes.
    """

    config: RunConfig
    plan: TrainPlan
    sizes: Mapping[Split, int]
    asks: bool
    assumed: Assumptions
    seeded: bool = True
    done: int | None = None
    course: Course = ONE_CALL

    def forecast(self) -> Forecast:
        """The whole training, or what is left of it."""
        baseline = self._attempts("measure", Range.of(self.sizes["selection"]))
        test = self._test()
        if self.done is not None:
            # What a step was at, and what was tested, may be in the journal already.
            baseline, test = Amount(), test.maybe()
        steps = tuple(self._steps())
        return Forecast(
            baseline=baseline,
            steps=steps,
            reached=self._reached(len(steps)),
            test=test,
            models=1 + self.asks + bool(self.course.verdicts.high),
            course=self.course,
        )

    @property
    def _patience(self) -> int:
        """Steps without an accepted candidate that end the run; without a gate all are accepted."""
        patience, total = self.config.evaluation.patience, self.plan.total
        return min(patience, total) if patience and self.config.evaluation.use_gate else total

    @property
    def _last(self) -> int:
        """The step after which the run ends at the latest."""
        best = self.assumed.best_step
        return self.plan.total if best is None else min(self.plan.total, best + self._patience)

    def _reached(self, steps: int) -> tuple[float, ...]:
        """How likely each of the next steps is, by how long patience may last."""
        if self.assumed.best_step is not None:
            return (1.0,) * steps
        idle = [1.0] + [0.0] * (self._patience - 1)
        reached = []
        for _ in range(steps):
            reached.append(sum(idle))
            idle = [ACCEPTED * sum(idle), *((1 - ACCEPTED) * chance for chance in idle[:-1])]
        return tuple(reached)

    def _steps(self) -> Iterator[Amount]:
        known: dict[tuple[int, int | None], Amount] = {}
        for step in self.plan.after(self.done or 0):
            if step.number > self._last:
                return
            alike = (self.plan.size(step), step.edit_budget)
            if alike not in known:
                known[alike] = self._step(*alike)
            ends = step.closes_epoch and step.epoch > 1
            yield known[alike] + self._epoch_end(step) if ends else known[alike]

    def _step(self, tasks: int, budget: int | None) -> Amount:
        made = self._attempts("rollout", Range.of(tasks)) + self._reflection(tasks, budget)
        rates = self.config.optimizer.rate_control == "autonomous"
        changed = self._changed(RATES_NOTHING if rates else 0.0)
        return made + self._attempts("measure", self._measurement(changed))

    def _changed(self, unchanged: float = 0.0) -> float:
        """How likely a text that is made is a new one; not so with a chance, if none is told."""
        told = self.assumed.unchanged
        return 1 - (unchanged if told is None else told)

    def _reflection(self, tasks: int, budget: int | None) -> Amount:
        """From analysts to a candidate."""
        if not self.asks:
            return Amount()
        settings, size = self.config.optimizer, self.config.gradient.merge_batch_size
        accuracy = self.assumed.solved
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
        for solved, chance in enumerate(binomial(tasks, self.assumed.solved.point)):
            pair = self._minibatches(tasks - solved, solved)
            chances[pair] = chances.get(pair, 0.0) + chance
        return chances

    def _minibatches(self, failures: int, successes: int) -> tuple[int, int]:
        """Analysts asked about failures, and about successes."""
        size = self.config.gradient.minibatch_size
        if self.config.gradient.failure_only:
            successes = 0
        return len(cut(range(failures), size)), len(cut(range(successes), size))

    def _measurement(self, changed: float) -> Range:
        """Attempts of measuring a candidate, which is a new text with the chance `changed`."""
        selection, evaluation = self.sizes["selection"], self.config.evaluation
        early = evaluation.early_reject and evaluation.use_gate
        told = self.assumed.measured
        share = (MEASURED_BEFORE_REJECT if told is None else told) if early else 1.0
        return Range(0, changed * share * selection, selection)

    def _epoch_end(self, step: StepPlan) -> Amount:
        """From the second epoch on: the same tasks under two skills, then guidance and notes."""
        settings = self.config.optimizer
        if not (settings.use_slow_update or settings.use_meta_skill):
            return Amount()
        made, calls = self._attempts("slow_update", self._comparison(step)), {}
        if settings.use_slow_update:
            calls["slow_update"] = Range(0, 1, TRIES)
            # What is injected by force makes a new text of the current and of the best skill.
            texts = 1 if self._leads(step.number) else 2
            changed = self._changed()
            forced = Range(0, changed * texts, 2) * self.sizes["selection"]
            gated = settings.slow_update_gate_with_selection
            made += self._attempts("measure", self._measurement(changed) if gated else forced)
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

        Two skills that each solve a share `a` would differ on 2a(1 - a) of the tasks by chance.
        They are of one kind, so at most half of that is likely.
        """
        accuracy = self.assumed.solved.point
        changed = min(changed, accuracy * (1 - accuracy))
        shown: Mapping[PairPolicy, float] = {"changed": changed, "unchanged": 1 - changed}
        return shown.get(self.config.optimizer.longitudinal_pair_policy, 1.0)

    def _leads(self, number: int) -> bool:
        """Whether the skill is the best one after a step: with a gate it mostly is."""
        return self.config.evaluation.use_gate or self.assumed.best_step == number

    @property
    def _seed_stays(self) -> float:
        """How likely the seed skill stays the best one to the end."""
        settings, best = self.config.optimizer, self.assumed.best_step
        forced = settings.use_slow_update and not settings.slow_update_gate_with_selection
        if forced and self._patience >= 2 * self.plan.steps_per_epoch:
            # Nothing accepted is no end before a second epoch's, where guidance is injected.
            return 0.0
        return (1 - ACCEPTED) ** self._patience if best is None else float(best == 0)

    def _test(self) -> Amount:
        """The final test; equal texts are attempted once."""
        evaluation = self.config.evaluation
        if not evaluation.eval_test:
            return Amount()
        arms = Range(1, 2 - self._seed_stays + (not self._leads(self._last)), 3)
        if evaluation.eval_no_skill:
            arms += Range(0, self.seeded, self.seeded)
        return self._attempts("test", arms * self.sizes["test"])

    def _attempts(self, stage: StageName, number: Range) -> Amount:
        run = self.config.run
        rounds = number.per(min(run.workers, run.max_concurrency))
        return Amount(
            attempts={stage: number}, seconds=rounds * self.course.calls * self.assumed.seconds
        )

    def _asked(self, calls: Mapping[str, Range]) -> Amount:
        workers = min(self.config.gradient.analyst_workers, self.config.run.max_concurrency)
        rounds = sum((number.per(workers) for number in calls.values()), Range())
        return Amount(calls=calls, seconds=rounds * self.assumed.seconds)


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
