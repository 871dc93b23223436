"""A step's learning rate in words, whoever set it."""

from __future__ import annotations

from skillopt_cli.core.events import LearningRateChosen
from skillopt_cli.ui.parts import StepView
from skillopt_cli.ui.words import count, cut_rate, one_line


def rate_words(event: LearningRateChosen) -> str:
    """What the optimizer chose, or that the schedule decided in its place."""
    kept = f"{event.applied} of {count(event.available, 'edit')}"
    if event.asked is None:
        return f"{kept}, by the schedule: the optimizer gave no usable answer"
    asked = f" (asked for {event.asked})" if event.clamped else ""
    return f"{kept}, chosen by the optimizer{asked}"


def rate_note(step: StepView | None) -> str:
    """The rate in a few words: `lr=8, cosine -> 7.7`, or how else the edits were limited."""
    if step is not None and step.rate is not None:
        by = "schedule" if step.rate.asked is None else "optimizer"
        return f"lr={step.rate.applied}, by the {by}"
    if step is None or step.plan is None:
        return "learning rate unknown"
    plan = step.plan
    if plan.edit_budget is None:
        return "no limit"
    return f"lr={plan.learning_rate}, {one_line(plan.scheduler)} -> {cut_rate(plan.raw_rate)}"


def edit_budget(step: StepView) -> int | None:
    """The most edits the step could apply, None without a limit."""
    if step.rate is not None:
        return step.rate.applied
    return step.plan.edit_budget if step.plan else None
