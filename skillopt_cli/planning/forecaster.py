"""Counts the work of a training by the rules that its stages follow. Pure.

What cannot be known in advance is assumed (`Assumptions`). Where several outcomes are possible, the
point is their mean, and the range holds all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from skillopt_cli.config import RunConfig
from skillopt_cli.core.epoch_pairs import PairPolicy
from skillopt_cli.core.events import Role, StageName
from skillopt_cli.core.plan import StepPlan, TrainPlan
from skillopt_cli.core.statistics import CHANGED
from skillopt_cli.core.task import Split
from skillopt_cli.planning.analyst_chances import (
    Chances,
    asked,
    mean,
    merges,
    minibatches,
    proposing,
)
from skillopt_cli.planning.forecast import (
    ONE_CALL,
    Amount,
    Assumptions,
    AttemptCalls,
    Forecast,
    Range,
)
from skillopt_cli.planning.verification_trials import MostTrials, likely_trials
from skillopt_cli.ports import Speed
from skillopt_cli.stages.compare import waves
from skillopt_cli.stages.rank import exceeds

EDITS_PER_PATCH = 2
"""Edits that an analyst proposes, where that decides whether they must be ranked."""
MEASURED_BEFORE_REJECT = 0.7
"""Share of the selection split measured of a candidate, with early rejection, if unknown."""
ACCEPTED = 0.3
"""Share of candidates accepted, where that decides how long patience lasts and what is tested."""
RATES_NOTHING = 0.1
"""Share of steps whose rate, set by the optimizer itself, lets no edit through."""
BEST_IS_GUIDANCE = 0.5
"""Chance that a best skill of the last step is the guidance after it, not the step's candidate."""
PASSING = 0.3
"""Share of edits that pass verification, and of failed tasks they solve, if unknown."""
VERIFIED_ACCEPTED = 0.9
"""`ACCEPTED` of candidates whose edits were verified."""
SERVICE = Speed(2.0)
"""How fast a service answers, if unknown."""
TRIES = 2
"""An answer of the optimizer that cannot be used is asked for once more."""


@dataclass(frozen=True, slots=True)
class Forecaster:
    """Counts the work of a training.

    Attributes:
        sizes: tasks in use of each split.
        asks: whether the optimizer is a model; one that is none makes no calls.
        seeded: whether the seed skill has a text; without one it is the test's arm without a skill.
        done: steps recorded for good; what is left is forecast. None before the baseline is.
        made: work of what the run stopped at that the journal has.
        attempt: how many calls an attempt makes.
        confirmation: tasks set aside for the verdict.
        blocks: those of the seed skill.
        speeds: how fast backends answer that know it, by role.
    """

    config: RunConfig
    plan: TrainPlan
    sizes: Mapping[Split, int]
    asks: bool
    assumed: Assumptions
    seeded: bool = True
    done: int | None = None
    made: Amount = field(default_factory=Amount)
    attempt: AttemptCalls = ONE_CALL
    confirmation: int = 0
    blocks: int = 0
    speeds: Mapping[Role, Speed] = field(default_factory=dict)

    def seconds(self, role: Role) -> float:
        """What a call of a role takes."""
        return self._speed(role).seconds

    def _speed(self, role: Role) -> Speed:
        # A latency that is given or measured is that of calls made side by side.
        known = self.assumed.latency
        return self.speeds.get(role, SERVICE) if known is None else Speed(known)

    def forecast(self) -> Forecast:
        """The whole training, or what is left of it."""
        baseline = self._attempts("measure", Range.of(self.sizes["selection"]))
        test, steps = self._test(), tuple(self._steps())
        if self.done is None:
            baseline = baseline.without(self.made)
        else:
            # Texts that were tested before may be among those of the test.
            baseline, test = Amount(), test.without(self.made).maybe()
            steps = (*(step.without(self.made) for step in steps[:1]), *steps[1:])
        return Forecast(
            baseline=baseline,
            steps=steps,
            reached=self._reached(len(steps)),
            test=test,
            models=(1 + self.asks + bool(self.attempt.verdicts.high)) * self.config.run.preflight,
            attempt=self.attempt,
            pruning=self._pruning(),
        )

    @property
    def _verifies(self) -> bool:
        return self.config.optimizer.verify != "off"

    @property
    def _accepted(self) -> float:
        return VERIFIED_ACCEPTED if self._verifies else ACCEPTED

    @property
    def _passing(self) -> float:
        return PASSING if self.assumed.passing is None else self.assumed.passing

    @property
    def _patience(self) -> int:
        """Steps without an accepted candidate that end the run; without a gate all are accepted."""
        patience, total = self.config.evaluation.patience, self.plan.total
        return min(patience, total) if patience and self.config.evaluation.use_gate else total

    @property
    def _last(self) -> int:
        """The step after which the run ends at the latest."""
        best, last = self.assumed.best_step, self.assumed.last_step
        if last is None:
            last = self.plan.total if best is None else best + self._patience
        return min(self.plan.total, last)

    def _reached(self, steps: int) -> tuple[float, ...]:
        """How likely each of the next steps is, by how long patience and failed tasks may last."""
        if self.assumed.best_step is not None or self.assumed.last_step is not None:
            return (1.0,) * steps
        ends = self.config.gradient.failure_only and self.config.optimizer.rerun_solved < 1
        solved = self._solved_before() if ends else [0.0] * self.plan.epochs
        idle = [1.0] + [0.0] * (self._patience - 1)
        reached = []
        for step in islice(self.plan.after(self.done or 0), steps):
            unsolved = 1 - solved[step.epoch - 1] ** self.sizes["train"]
            reached.append(unsolved * sum(idle))
            accepted = self._accepted
            idle = [accepted * sum(idle), *((1 - accepted) * chance for chance in idle[:-1])]
        return tuple(reached)

    def _solved_before(self) -> list[float]:
        """By epoch, the share of train tasks that were solved when last attempted before it."""
        settings, solved, shares = self.config.optimizer, 0.0, []
        first = self.assumed.solved.point
        # Attempts with the edits so far count where the candidate is accepted.
        later = (1 - first) * (1 - (1 - self._passing) ** (settings.rounds - 1)) * self._accepted
        for _ in range(self.plan.epochs):
            shares.append(solved)
            left_out = (1 - settings.rerun_solved) * solved
            solved = left_out + (1 - left_out) * (first + later)
        return shares

    def _steps(self) -> Iterator[Amount]:
        known: dict[tuple[int, int | None, float], Amount] = {}
        solved = self._solved_before()
        for step in self.plan.after(self.done or 0):
            if step.number > self._last:
                return
            left_out = (1 - self.config.optimizer.rerun_solved) * solved[step.epoch - 1]
            alike = (self.plan.size(step), step.edit_budget, left_out)
            if alike not in known:
                known[alike] = self._step(*alike)
            ends = step.closes_epoch and step.epoch > 1
            yield known[alike] + self._epoch_end(step) if ends else known[alike]

    def _step(self, tasks: int, budget: int | None, left_out: float) -> Amount:
        """A step; `left_out` is the share of its tasks that were solved before."""
        attempted = tasks * (1 - left_out)
        made = self._attempts("rollout", Range(0, attempted, tasks))
        rounds = [
            asked(
                self.config.gradient,
                round(attempted),
                1 - (1 - self.assumed.solved.point) * (1 - self._passing) ** number,
                failures_only=number > 0,
            )
            for number in range(self.config.optimizer.rounds)
        ]
        edits = [EDITS_PER_PATCH * mean(proposing(analysts), sum) for analysts in rounds]
        changed = self._changed(edits)
        most = MostTrials(self.config.optimizer, tasks, self.config.gradient.minibatch_size, budget)
        if self.asks:
            for number, analysts in enumerate(rounds):
                made += self._reflection((tasks, budget), analysts, failures_only=number > 0)
            made += self._update(most, edits, changed)
        made += self._verification(most, attempted, edits, changed)
        return made + self._attempts("measure", self._measurement(changed))

    def _verification(
        self, most: MostTrials, attempted: float, edits: Sequence[float], changed: float
    ) -> Amount:
        """Attempts that try edits on failed tasks, round by round, and then on solved ones."""
        settings, solved, passing = self.config.optimizer, self.assumed.solved.point, self._passing
        failed = [attempted * (1 - solved) * (1 - passing) ** n for n in range(len(edits))]
        if self._verifies and self.assumed.trials is not None:
            trials = self.assumed.trials * failed[0]
        else:
            # With no new text, what failed is not attempted again.
            trials = changed * sum(failed[:-1])
            for left, tried in zip(failed, edits, strict=True):
                trials += likely_trials(settings, left, tried, passing)
        on_failed, on_solved = max(
            (
                (most.on_failed(most.tasks - n), most.on_solved(n))
                for n in self._solvable(most.tasks)
            ),
            key=sum,
        )
        made = self._attempts("verify", Range(0, trials, on_failed))
        if settings.check_passing:
            made += self._attempts("check", Range(0, changed * attempted * solved, on_solved))
        return made

    def _solvable(self, tasks: int) -> range:
        """How many of a step's tasks may be solved."""
        solved = self.assumed.solved
        return range(math.floor(tasks * solved.low), math.ceil(tasks * solved.high) + 1)

    def _changed(self, edits: Sequence[float] = ()) -> float:
        """How likely a text that is made is a new one.

        Args:
            edits: of each round of a step; none for guidance.
        """
        if self.assumed.unchanged is not None:
            return 1 - self.assumed.unchanged
        if edits and self._verifies:
            return float(1 - (1 - self._passing) ** sum(edits))
        rates = bool(edits) and self.config.optimizer.rate_control == "autonomous"
        return 1 - RATES_NOTHING if rates else 1.0

    def _reflection(
        self, step: tuple[int, int | None], analysts: Chances, *, failures_only: bool
    ) -> Amount:
        """From analysts to chosen edits, in one round of a step of so many tasks and edits."""
        settings, gradient, (tasks, budget) = self.config.optimizer, self.config.gradient, step
        cuts = [
            minibatches(gradient, tasks - n, 0 if failures_only else n)
            for n in self._solvable(tasks)
        ]
        patches, size = proposing(analysts), gradient.merge_batch_size
        most = max(sum(pair) for pair in cuts)
        calls = {"reflect": Range(0, mean(analysts, sum), most * TRIES)}
        # Analysts may propose nothing, and then there is nothing to merge.
        if settings.merge == "model":
            likely = mean(patches, lambda pair: merges(pair, size))
            calls["aggregate"] = Range(0, likely, max(merges(pair, size) for pair in cuts) * TRIES)
        if settings.rate_control == "autonomous":
            calls["learning_rate"] = Range(0, mean(patches, lambda pair: sum(pair) > 0), TRIES)
        if settings.rate_control != "none" and not self._verifies:
            ranked = mean(patches, lambda pair: exceeds(EDITS_PER_PATCH * sum(pair), budget))
            calls["select"] = Range(0, ranked, TRIES)
        return self._asked(calls)

    def _update(self, most: MostTrials, edits: Sequence[float], changed: float) -> Amount:
        """Calls that write texts, and shorten notes."""
        settings, calls = self.config.optimizer, {}
        if settings.skill_update_mode == "rewrite_from_suggestions":
            alone = sum(edits) if self._verifies else 0.0
            calls["update"] = Range(0, changed + alone, most.texts * TRIES)
        if settings.use_skill_aware_reflection and settings.skill_aware_consolidate_threshold:
            calls["appendix_consolidate"] = Range(0, 0, TRIES)
        return self._asked(calls)

    def _measurement(self, changed: float) -> Range:
        """Attempts of measuring a candidate, which is a new text with the chance `changed`."""
        selection, evaluation = self.sizes["selection"], self.config.evaluation
        early = evaluation.early_reject and evaluation.use_gate
        known = self.assumed.measured
        if known is None:
            # Of what is accepted, all is measured.
            accepted = (self._accepted - ACCEPTED) / (1 - ACCEPTED)
            known = accepted + (1 - accepted) * MEASURED_BEFORE_REJECT
        made = Range(0, changed * (known if early else 1.0), 1)
        if evaluation.gate_policy == "pooled":
            made += Range(0, changed, 1)
        return made * selection

    def _epoch_end(self, step: StepPlan) -> Amount:
        """From the second epoch on: the same tasks under two skills, then guidance and notes."""
        settings = self.config.optimizer
        if not (settings.use_slow_update or settings.use_meta_skill):
            return Amount()
        made, calls = self._attempts("slow_update", self._comparison(step)), {}
        if settings.use_slow_update:
            calls["slow_update"] = Range(0, 1, TRIES)
            changed = self._changed()
            # Neither a tie that is enough nor what is injected by force is settled early.
            whole = Range(0, changed, 1) * self.sizes["selection"]
            strict = not (self._forced or settings.slow_update_accept_ties)
            made += self._attempts("measure", self._measurement(changed) if strict else whole)
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

    @property
    def _another(self) -> float:
        """How likely the last skill is another text than the best one."""
        best, last, epoch = self.assumed.best_step, self._last, self.plan.steps_per_epoch
        guided = last - last % epoch
        if self._guided and guided >= max(2 * epoch, best or 0):
            return BEST_IS_GUIDANCE if best == guided else 1.0
        # With a gate, what else becomes the current skill mostly is the best one too.
        return float(not self.config.evaluation.use_gate and best != last)

    @property
    def _guided(self) -> bool:
        """Whether guidance that is not better than the best skill likely is the current one."""
        settings = self.config.optimizer
        return settings.use_slow_update and (self._forced or settings.slow_update_accept_ties)

    @property
    def _forced(self) -> bool:
        """Whether guidance is injected whatever its score."""
        gated = self.config.optimizer.slow_update_gate_with_selection
        return not (gated and self.config.evaluation.use_gate)

    @property
    def _seed_stays(self) -> float:
        """How likely the seed skill stays the best one to the end."""
        best = self.assumed.best_step
        return (1 - self._accepted) ** self._patience if best is None else float(best == 0)

    def _test(self) -> Amount:
        """The final test; equal texts are attempted once."""
        evaluation = self.config.evaluation
        confirmed = Range(0, 2 - self._seed_stays, 2) * self.confirmation
        if not evaluation.eval_test:
            return self._attempts("test", confirmed) if self.confirmation else Amount()
        arms = Range(1, 2 - self._seed_stays + self._another, 3).likely(self.assumed.tested)
        if evaluation.eval_no_skill:
            arms += Range(0, self.seeded, self.seeded)
        return self._attempts("test", arms * self.sizes["test"] + confirmed)

    def _pruning(self) -> Amount:
        """Measurements of the best skill without each of its blocks: an edit adds one."""
        if not self.config.optimizer.prune:
            return Amount()
        steps = list(self.plan.after(0))
        most = self.blocks + sum(step.edit_budget or self.plan.size(step) for step in steps)
        likely = self.blocks + EDITS_PER_PATCH * len(steps) * self._changed() * self._accepted
        tried = Range(0, min(likely, most), most).likely(self.assumed.blocks)
        return self._attempts("prune", tried * self.sizes["selection"])

    def _attempts(self, stage: StageName, number: Range) -> Amount:
        rounds = number.per(self._at_once("target", self.config.run.workers))
        each = self.attempt.turns * self.seconds("target")
        each += self.attempt.verdicts * self.seconds("judge")
        return Amount(attempts={stage: number}, seconds=rounds * each)

    def _asked(self, calls: Mapping[str, Range]) -> Amount:
        workers = self._at_once("optimizer", self.config.gradient.analyst_workers)
        rounds = sum((number.per(workers) for number in calls.values()), Range())
        return Amount(calls=calls, seconds=rounds * self.seconds("optimizer"))

    def _at_once(self, role: Role, workers: int) -> int:
        """Calls of a role in flight, or at work where its backend takes fewer."""
        limit = self._speed(role).at_once or workers
        return min(workers, self.config.run.max_concurrency, limit)
