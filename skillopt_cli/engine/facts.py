"""Facts the loop states, built from the values it holds."""

from __future__ import annotations

from skillopt_cli.core.edits import Candidate
from skillopt_cli.core.events import BaselineMeasured, StepSkipped, StepStarted, TestMeasured
from skillopt_cli.core.plan import StepPlan
from skillopt_cli.core.score import Measured
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


def step_skipped(step: StepPlan, candidate: Candidate, budget: int | None) -> StepSkipped:
    """A step without a candidate worth measuring, and why."""
    nothing = "no edit changed the skill" if candidate.outcomes else "no edit was proposed"
    states = {outcome.state for outcome in candidate.outcomes}
    if "vetoed" in states and states <= {"vetoed", "over_budget"}:
        nothing = "every chosen edit was vetoed"
    if budget == 0 and candidate.outcomes:
        nothing = "the learning rate is 0, no edit is applied"
    return StepSkipped(step.number, candidate.refused or nothing)


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
