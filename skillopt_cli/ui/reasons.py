"""Why a run changed nothing: counted reasons, for the reader who expected a better skill."""

from __future__ import annotations

from collections import Counter
from typing import Any

from skillopt_cli.core.gate import EPSILON
from skillopt_cli.ui.parts import StepView
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.words import count, one_line


def why_no_change(view: RunView) -> dict[str, Any] | None:
    """None when the skill changed or the run still goes on; else the reasons, counted.

    A skill changes when a candidate is accepted, and when an epoch's end injects guidance.

    Returns:
        `sentence` for people, `steps` (reason to number of steps) and `edits` (state to number of
        edits that did not get into a candidate).
    """
    if view.ending is None or any(step.accepted for step in view.steps):
        return None
    if not view.total_steps or any(epoch.changed for epoch in view.epochs):
        return None
    steps = Counter(_reason(step) for step in view.steps)
    edits = Counter(o.state for step in view.steps for o in step.outcomes if o.state != "applied")
    return {
        "sentence": _sentence(view, steps),
        "steps": dict(steps.most_common()),
        "edits": dict(edits.most_common()),
    }


def _reason(step: StepView) -> str:
    """Why a step that accepted nothing did not."""
    if step.gate is not None:
        decision = step.gate.decision
        if decision.verdict == "indecisive":
            return "too few scored attempts to compare"
        if decision.verdict == "no_op":
            return "the candidate equals the current skill"
        if decision.early:
            return "not better (settled early)"
        return "tied" if _ties(step) else "worse"
    if step.skipped is not None:
        return "no edit was proposed" if step.action == "skip_no_patches" else step.skipped
    return "not finished"


def _ties(step: StepView) -> bool:
    decision = step.gate.decision if step.gate else None
    if decision is None or decision.candidate is None or decision.incumbent is None:
        return False
    return abs(decision.candidate - decision.incumbent) <= EPSILON


def _sentence(view: RunView, steps: Counter[str]) -> str:
    stop = f"; stopped early: {one_line(view.stopped)}" if view.stopped else ""
    if not steps:
        return f"no step was taken{stop}"
    reasons = ", ".join(f"{n} {one_line(reason)}" for reason, n in steps.most_common())
    return f"no candidate was accepted in {count(steps.total(), 'step')}: {reasons}{stop}"
