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
from skillopt_cli.core.events import Role, StageName
from skillopt_cli.core.plan import StepPlan, TrainPlan
from skillopt_cli.core.task import Split
from skillopt_cli.planning.analyst_chances import (
    Chances,
    asked,
    mean,
    merges,
    minibatches,
    proposing,
)
from skillopt_cli.planning.epoch_comparison import compared_attempts
from skillopt_cli.planning.forecast import (
    ONE_CALL,
    Amount,
    Assumptions,
    AttemptCalls,
    Forecast,
    Range,
)
from skillopt_cli.planning.proposed_edits import (
    EDITS_PER_PATCH,
    RULES_AT_MOST,
    Proposed,
    proposed_by_model,
    proposed_by_rules,
)
from skillopt_cli.planning.solved_shares import Gain, Solved, solved_by_epoch
from skillopt_cli.planning.verification_trials import MostTrials, likely_trials
from skillopt_cli.ports import Speed
from skillopt_cli.stages.rank import exceeds

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
        learns: whether the share of tasks that are solved grows by what verified edits solve; where
            not, the assumed one is that of all steps.
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
    learns: bool = True

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
        solved = [epoch.before if ends else 0.0 for epoch in self._solved()]
        idle = [1.0] + [0.0] * (self._patience - 1)
        reached = []
        for step in islice(self.plan.after(self.done or 0), steps):
            unsolved = 1 - solved[step.epoch - 1] ** self.sizes["train"]
            reached.append(unsolved * sum(idle))
            accepted = self._accepted
            idle = [accepted * sum(idle), *((1 - accepted) * chance for chance in idle[:-1])]
        return tuple(reached)

    def _solved(self) -> list[Solved]:
        """The shares of train tasks that are solved, by epoch."""
        gain = Gain(self._passing, self._accepted, self._learns)
        settings, first = self.config.optimizer, self.assumed.solved.point
        return list(solved_by_epoch(settings, self.plan.epochs, first, gain))

    @property
    def _learns(self) -> bool:
        return self.learns and self._verifies

    def _steps(self) -> Iterator[Amount]:
        known: dict[tuple[int, int | None, Solved, int], Amount] = {}
        solved = self._solved()
        for step in self.plan.after(self.done or 0):
            if step.number > self._last:
                return
            # The room of a skill for worked examples shrinks step by step.
            before = 0 if self.asks else step.number - 1
            alike = (self.plan.size(step), step.edit_budget, solved[step.epoch - 1], before)
            if alike not in known:
                known[alike] = self._step(*alike)
            ends = step.closes_epoch and step.epoch > 1
            yield known[alike] + self._epoch_end(step) if ends else known[alike]

    def _step(self, tasks: int, budget: int | None, solved: Solved, before: int) -> Amount:
        """A step of an epoch with these shares of solved tasks, after so many other steps."""
        attempted, accuracy = tasks * (1 - solved.left_out), solved.attempted
        made = self._attempts("rollout", Range(0, attempted, tasks))
        rounds = self._analysts(attempted, accuracy)
        left = (1 - accuracy) * attempted
        failed = [left * (1 - self._passing) ** number for number in range(len(rounds))]
        proposed = [
            self._proposed(analysts, number, before * len(rounds) + n)
            for n, (analysts, number) in enumerate(zip(rounds, failed, strict=True))
        ]
        edits = [sum(group.edits for group in groups) for groups in proposed]
        changed = self._changed(edits)
        gradient, solvable = self.config.gradient, self._solvable(tasks, solved)
        others = 0 if self.asks else RULES_AT_MOST
        most = MostTrials(self.config.optimizer, tasks, gradient.minibatch_size, budget, others)
        if self.asks:
            for number, analysts in enumerate(rounds):
                cuts = [minibatches(gradient, tasks - n, 0 if number else n) for n in solvable]
                made += self._reflection(cuts, budget, analysts)
            made += self._update(most, edits, changed)
        trials = self._trials(failed, proposed, changed)
        on_failed, on_solved = most.of_any(solvable)
        made += self._attempts("verify", Range(0, trials, on_failed))
        if self.config.optimizer.check_passing:
            made += self._attempts("check", Range(0, changed * attempted * accuracy, on_solved))
        return made + self._attempts("measure", self._measurement(changed))

    def _analysts(self, attempted: float, accuracy: float) -> list[Chances]:
        """Those that each round of a step asks."""
        gradient = self.config.gradient
        shares = [(1 - self._passing) ** n for n in range(self.config.optimizer.rounds)]
        return [
            asked(gradient, round(attempted), 1 - (1 - accuracy) * share, failures_only=number > 0)
            for number, share in enumerate(shares)
        ]

    def _proposed(self, analysts: Chances, failed: float, before: int) -> list[Proposed]:
        """The edits that one round tries, after so many other rounds."""
        if self.asks:
            return proposed_by_model(mean(proposing(analysts), sum), failed)
        size = self.config.gradient.minibatch_size
        return proposed_by_rules(failed, size, self._passing, before)

    def _trials(
        self, failed: Sequence[float], proposed: Sequence[Sequence[Proposed]], changed: float
    ) -> float:
        """Attempts at failed tasks, round by round."""
        if self._verifies and self.assumed.trials is not None:
            return self.assumed.trials * failed[0]
        settings, pairs = self.config.optimizer, zip(failed, proposed, strict=True)
        tried = sum(likely_trials(settings, left, edits, self._passing) for left, edits in pairs)
        # With no new text, what failed is not attempted again.
        return tried + changed * sum(failed[:-1])

    def _solvable(self, tasks: int, solved: Solved) -> range:
        """How many of a step's tasks may be solved; once a skill has learned, any number."""
        if solved.learned:
            return range(tasks + 1)
        share = self.assumed.solved
        return range(math.floor(tasks * share.low), math.ceil(tasks * share.high) + 1)

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
        self, cuts: Sequence[tuple[int, int]], budget: int | None, analysts: Chances
    ) -> Amount:
        """From analysts to chosen edits, in one round of a step of so many edits.

        Args:
            cuts: the minibatches of failures and of successes that there may be.
            analysts: those that are likely.
        """
        settings, gradient = self.config.optimizer, self.config.gradient
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
        best, before = self.assumed.best_step, step.number - self.plan.steps_per_epoch
        same = self.config.evaluation.use_gate and best is not None and best <= before
        accuracy, train = self.assumed.solved.point, self.sizes["train"]
        return compared_attempts(self.config.optimizer, train, accuracy, same=same)

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
