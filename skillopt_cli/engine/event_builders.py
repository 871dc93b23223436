"""Facts the loop states, built from the values it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from skillopt_cli.core.edit_counts import EditCounts, why_no_edits
from skillopt_cli.core.edits import Candidate
from skillopt_cli.core.events import BaselineMeasured, StepSkipped, StepStarted, TestMeasured
from skillopt_cli.core.plan import StepPlan
from skillopt_cli.core.score import Measured, Trajectory
from skillopt_cli.core.verification import Draft
from skillopt_cli.stages import Run


def step_started(run: Run, step: StepPlan) -> StepStarted:
    """A step and its place in the schedule."""
    return StepStarted(
        step=step.number,
        epoch=step.epoch,
        step_in_epoch=step.step_in_epoch,
        edit_budget=step.edit_budget,
        raw_rate=step.raw_rate,
        learning_rate=run.plan.rate.high,
        scheduler=run.plan.rate.scheduler,
        control=run.config.optimizer.rate_control,
    )


def step_skipped(step: StepPlan, candidate: Candidate, counts: EditCounts) -> StepSkipped:
    """A step without a candidate worth measuring, and why."""
    if candidate.refused:
        return StepSkipped(step.number, candidate.refused)
    return StepSkipped(step.number, why_no_edits(counts), counts)


def edit_counts(
    run: Run, draft: Draft, trajectories: Sequence[Trajectory], candidate: Candidate
) -> EditCounts:
    """How many edits each stage of a step let through."""
    reflection = draft.reflection
    batch = run.plan.size(run.step) if run.step else len(trajectories)
    return EditCounts(
        scored=sum(t.score is not None for t in trajectories),
        failures=sum(t.failed for t in trajectories),
        broken=sum(t.score is None for t in trajectories),
        asked=reflection.asked,
        answered=len(reflection.patches),
        proposed=sum(len(patch.edits) + len(patch.set_aside) for patch in reflection.patches),
        merged=draft.merged,
        rate=draft.rate,
        states=tuple(Counter(outcome.state for outcome in candidate.outcomes).items()),
        evidence=reflection.evidence,
        left_out=batch - len(trajectories),
        trials=len(draft.patch.trials),
        untried=sum(o.state == "unverified" and o.trial is None for o in draft.patch.set_aside),
    )


def baseline_measured(run: Run, baseline: Measured) -> BaselineMeasured:
    """The seed's scores on the selection split."""
    return BaselineMeasured(
        value=baseline.mean(run.metric),
        hard=baseline.hard,
        soft=baseline.soft,
        scored=baseline.scored,
        n=baseline.n,
    )


def test_measured(label: str, measured: Measured) -> TestMeasured:
    """A skill's scores on the test split."""
    return TestMeasured(
        label=label,
        digest=measured.skill.digest,
        hard=measured.hard,
        soft=measured.soft,
        scored=measured.scored,
        n=measured.n,
    )
