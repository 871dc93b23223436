"""`RunView`: what a screen shows of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skillopt_cli.core.copies import changed
from skillopt_cli.core.events import (
    BaselineMeasured,
    CallRetried,
    CheckpointSaved,
    PaceChanged,
    ParameterRefused,
    Role,
    RunFailed,
    RunFinished,
    RunStarted,
    SkillPruned,
    SubscriberDropped,
    TestMeasured,
)
from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.ledger import Ledger, Spent, Worked
from skillopt_cli.core.run_verdict import RunVerdict
from skillopt_cli.core.steering import Steering
from skillopt_cli.core.task import TaskSet
from skillopt_cli.runlog.parts import (
    NO_STANDING,
    EpochView,
    StageKey,
    StageView,
    Standing,
    StepView,
)
from skillopt_cli.runlog.rounds import Rounds
from skillopt_cli.runlog.split_looks import NO_LOOKS, SplitLooks

TESTING = 1_000_000_000
"""Where in the run something happened, when it was during the final tests."""


@dataclass(frozen=True)
class RunView:
    """A run, as far as its facts show it.

    What was paid for (calls, tokens, retries, attempts made, wall time) counts over all processes
    of the run. What was found out (scores, decisions, broken attempts, degraded paths) counts once:
    facts of steps beyond a later `RunStarted.done` are dropped, because those steps are done again.

    Attributes:
        run: who and what, None before the first `RunStarted`.
        done: steps recorded for good.
        saved: the last checkpoint, None before the first.
        at: the step at work or the last one recorded; `TESTING` in the tests.
        standing: scores of the current and the best skill under the gate metric.
        stages: stages at work, in the order they began; more than one when they overlap.
        waves: seconds that attempts made at a time took, by stage.
        rounds: the outcome of each task, by stage, in the order the stages began.
        redone: what earlier processes paid for steps that they did not record.
        interrupted: seconds that they worked on these steps.
        pruned: what was removed from the best skill at the end.
        verdict: what tasks that no step used prove about the best skill, None before that is known.
        majority: what the commonest answer scores on these tasks; None where answers are no labels.
        tests: by label (seed, best, final, no_skill, eval), of texts with these labels now.
        looks: all measurements on test tasks, over all processes of the run.
        ledger: all calls, over all processes of the run.
        marks: shares of caps whose use was announced, as (cap, limit, share).
        failed: tries of calls that failed, by the error's class.
        refused: optional parameters that models do not take.
        pace: how fast a provider's model may be asked, by both, as last stated.
        loaded: scored attempts by whether the agent's program brought the skill before its model,
            as far as that is known; those the journal had are not counted.
        broken: attempts without a score, by stage and reason.
        degraded: weaker paths taken, by step (0 before the first, `TESTING` in tests) and place.
        degraded_reasons: the latest reason of each place.
        failures: how many processes of the run failed; those that a person stopped are not counted.
        time: of the latest fact, in Unix seconds.
        drift: changed conditions under which the run was continued.
        drifted: whether some changed since the last checkpoint.
        deserted: whether the last process is gone without having stated an ending.
        worked: time at work, over all processes.
        steering: what a person asked of the run.
    """

    run: RunStarted | None = None
    baseline: BaselineMeasured | None = None
    done: int = 0
    saved: CheckpointSaved | None = None
    at: int = 0
    standing: Standing = NO_STANDING
    steps: tuple[StepView, ...] = ()
    epochs: tuple[EpochView, ...] = ()
    stages: tuple[StageView, ...] = ()
    waves: tuple[float, ...] = ()
    rounds: Rounds = ()
    redone: Mapping[int, Ledger] = field(default_factory=dict)
    interrupted: Mapping[int, float] = field(default_factory=dict)
    tests: Mapping[str, TestMeasured] = field(default_factory=dict)
    looks: SplitLooks = NO_LOOKS
    pruned: SkillPruned | None = None
    verdict: RunVerdict | None = None
    majority: LabelDiagnostics | None = None
    ledger: Ledger = field(default_factory=Ledger)
    marks: frozenset[tuple[str, float, float]] = frozenset()
    retries: Mapping[Role, int] = field(default_factory=dict)
    last_retry: CallRetried | None = None
    failed: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[ParameterRefused, ...] = ()
    judged_twice: tuple[int, int] = (0, 0)
    verdicts: tuple[int, int] = (0, 0)
    pace: Mapping[tuple[str, str], PaceChanged] = field(default_factory=dict)
    made: int = 0
    recalled: int = 0
    loaded: Mapping[bool, int] = field(default_factory=dict)
    broken: Mapping[StageKey, Mapping[str, int]] = field(default_factory=dict)
    degraded: Mapping[tuple[int, str], int] = field(default_factory=dict)
    degraded_reasons: Mapping[str, str] = field(default_factory=dict)
    preflight: Mapping[Role, str] = field(default_factory=dict)
    drift: tuple[str, ...] = ()
    drifted: bool = False
    stopped: str = ""
    dropped: tuple[SubscriberDropped, ...] = ()
    deserted: bool = False
    ending: RunFinished | RunFailed | None = None
    failures: int = 0
    time: float = 0.0
    worked: Worked = field(default_factory=Worked)
    steering: Steering = field(default_factory=Steering)

    @property
    def steering_now(self) -> Steering:
        """What a person asked of the run, without what ended with its process."""
        # A deserted run did not live to say that its pause ended.
        return self.steering.at_rest if self.deserted else self.steering

    @property
    def step(self) -> StepView | None:
        """The newest step."""
        return self.steps[-1] if self.steps else None

    @property
    def working(self) -> StepView | None:
        """The step that what happens now belongs to; None in the baseline and in the tests."""
        step = self.step
        return step if step and step.number == self.at and step.ended is None else None

    def step_at(self, number: int) -> StepView | None:
        """The step of this number, as far as the log has it."""
        return next((step for step in reversed(self.steps) if step.number == number), None)

    def noted(self, number: int, **known: Any) -> RunView:
        """The view with more known of a step, which is made when its start is not in the log."""
        if number < 1:
            return self
        if self.steps and self.steps[-1].number == number:
            # Nearly always, and a log may hold a million calls.
            return changed(self, steps=(*self.steps[:-1], changed(self.steps[-1], **known)))
        others = {step.number: step for step in self.steps}
        others[number] = changed(others.get(number) or StepView(number), **known)
        return changed(self, steps=tuple(others[n] for n in sorted(others)))

    @property
    def total_steps(self) -> int:
        """Steps the plan holds; 0 while unknown, and for an evaluation."""
        return self.run.total_steps if self.run else 0

    @property
    def evaluated(self) -> TaskSet | None:
        """What an evaluation measures, the selection split while that is unknown.

        None for a training.
        """
        if self.total_steps:
            return None
        if any(made.stage == "test" for made in self.rounds):
            return "test"
        # Several skills are measured under their names, as in `best_train`.
        ends = {label.rpartition("_")[2] for label in self.tests}
        others: tuple[TaskSet, ...] = ("train", "all")
        return next((name for name in others if name in ends), "selection")

    @property
    def recorded(self) -> tuple[StepView, ...]:
        """Steps that are recorded for good, oldest first, as far as the log has their start."""
        return tuple(s for s in self.steps if s.number <= self.done and s.plan is not None)

    def recorded_since(self, before: RunView) -> tuple[StepView, ...]:
        """Those of them that an earlier view of the same log does not have, or has to do again."""
        kept = min(before.done, self.done)
        return tuple(step for step in self.recorded if step.number > kept)

    @property
    def decided(self) -> tuple[StepView, ...]:
        """Steps the gate has spoken on, oldest first."""
        return tuple(step for step in self.steps if step.gate is not None)

    @property
    def trend(self) -> tuple[float | None, ...]:
        """The current skill's score: baseline first, then after each step that has ended."""
        if self.baseline is None:
            return ()
        later = (step.standing.current for step in self.steps if step.standing is not None)
        return (self.baseline.value, *later)

    @property
    def rollouts_saved(self) -> int:
        """Rollouts that early rejection made unnecessary."""
        return sum(s.saved for s in self.steps) + sum(e.saved for e in self.epochs)

    @property
    def uncalled(self) -> int:
        """Attempts that were made without a call, as the reply to their very prompt was journaled.

        0 where attempts take more than one call: then calls are no count of attempts.
        """
        called = self.ledger.rollouts
        if self.ledger.at_work("target").calls != called or not called:
            return 0
        return max(0, self.made - self.broken_total - called)

    @property
    def broken_total(self) -> int:
        """Attempts that ended without a score."""
        return sum(self.broken_reasons.values())

    @property
    def broken_reasons(self) -> dict[str, int]:
        """How often attempts were broken for each reason, the most frequent first."""
        reasons: Counter[str] = Counter()
        for counts in self.broken.values():
            reasons.update(counts)
        return dict(sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0])))

    @property
    def degraded_by_place(self) -> dict[str, int]:
        """Weaker paths taken, by where, in alphabetical order."""
        places: dict[str, int] = {}
        for (_, where), n in self.degraded.items():
            places[where] = places.get(where, 0) + n
        return dict(sorted(places.items()))

    @property
    def wall_time(self) -> float:
        """Seconds of work over all processes, up to the latest fact."""
        return self.worked.seconds

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles whose spend is shown: an evaluation asks no optimizer."""
        evaluates = self.run is not None and not self.total_steps
        roles = self.ledger.roles
        return tuple(r for r in roles if not (evaluates and r == "optimizer"))

    def spent_by(self, role: Role) -> Spent:
        """What a role's calls cost."""
        return self.ledger.by_role(role)

    @property
    def spent(self) -> Spent:
        """What all calls cost, over all processes of the run."""
        return self.ledger.total

    def left(self, now: float) -> float | None:
        """Seconds until the last step is recorded, tests not included; None before the first is."""
        spans = [s.ended - s.began for s in self.steps if s.ended is not None and s.began]
        if self.ending is not None or not spans or not self.total_steps:
            return None
        recent = spans[-5:]
        pace = max(0.0, sum(recent) / len(recent))
        open_steps = self.total_steps - self.done
        if open_steps <= 0:
            return 0.0
        newest = self.steps[-1]
        into = max(0.0, now - newest.began) if newest.number > self.done else 0.0
        return pace * (open_steps - 1) + max(0.0, pace - into)
