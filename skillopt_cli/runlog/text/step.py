"""A step in words: its learning rate, the trials of its edits, the notes of its appendix."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_cli.core.edit_counts import untried_words
from skillopt_cli.core.edits import Edit
from skillopt_cli.core.events import (
    AppendixWritten,
    EditsVerified,
    LearningRateChosen,
    PassingChecked,
    PatchesProposed,
)
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.text.format import count, cut_rate, one_line


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


def chosen_words(step: StepView | None, chosen: int, dropped: int) -> str:
    """How many edits were selected, and of those that are still to be verified, how many stay."""
    left = f", {dropped} left out" if dropped else ""
    most = most_edits(step)
    verified = "" if most is None or chosen <= most else f" to verify, of which {most} may stay"
    return f"Selected {count(chosen, 'edit')}{verified} ({rate_note(step)}){left}"


def most_edits(step: StepView | None) -> int | None:
    """How many edits a step may apply; None for no limit."""
    if step is not None and step.rate is not None:
        return step.rate.applied
    return step.plan.edit_budget if step is not None and step.plan is not None else None


def appendix_words(event: AppendixWritten) -> str:
    """How many notes a step brought, and how many the candidate's appendix holds."""
    shortened = f", shortened from {event.consolidated}" if event.consolidated else ""
    return f"Appendix: {count(len(event.added), 'note')} added, {event.total} in all{shortened}"


def note_lines(event: AppendixWritten) -> tuple[str, ...]:
    """The notes a step added, for the report."""
    return tuple(f"note: {one_line(note)}" for note in event.added)


def barren_words(event: PatchesProposed) -> str:
    """That usable analyses hold no edit; empty where one does, or none is usable."""
    patches = event.failure_patches + event.success_patches
    if event.edits or not patches:
        return ""
    return f"No edit proposed by {count(patches, 'analysis', 'analyses')}"


def verified_words(event: EditsVerified, chosen: Sequence[Edit] = ()) -> str:
    """How many edits of a round were tried on failed tasks, and kept; empty for no edit at all.

    Args:
        chosen: the edits of the round that were to be verified, without vetoed ones; the words
            state why some of them were not tried.
    """
    if not (event.trials or event.untried or event.kept):
        return ""
    tried = {trial.edit.identity for trial in event.trials}
    others = [edit for edit in chosen if edit.identity not in tried]
    of = f"{len(event.trials)} of {count(len(event.trials) + len(others), 'edit')}"
    words = of if others else count(len(event.trials), "edit")
    parts = [f"{words} tried on failed tasks{untried_words(event.untried)}"]
    successes = sum(edit.source == "success" for edit in others)
    if successes:
        parts.append(f"{successes} from solved tasks, which need no trial")
    if (useless := len(others) - successes - event.untried) > 0:
        parts.append(f"{useless} without effect or not applicable alone")
    parts.append(f"{event.kept} kept")
    above = sum(trial.passed for trial in event.trials) - event.kept
    if above > 0:
        parts.append(f"{above} above the learning rate")
    return f"Verify: {', '.join(parts)}"


def checked_words(event: PassingChecked) -> str:
    """What the kept edits did to the tasks that were solved without them."""
    noise = f" ({len(event.noise)} by noise)" if event.noise else ""
    removed = f", {count(len(event.removed), 'edit')} removed" if event.removed else ""
    tasks = count(event.checked, "solved task")
    return f"Check: {len(event.broke)} of {tasks} broken{noise}{removed}"
