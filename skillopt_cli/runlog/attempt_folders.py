"""Where the attempts of a stage lie in the run folder, and the skill they were made with."""

from __future__ import annotations

from collections.abc import Iterator

from skillopt_cli.core.edits import Trial
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.rounds import Round
from skillopt_cli.runlog.text.format import plain_words
from skillopt_cli.runlog.view import RunView


def attempt_folder(view: RunView, made: Round) -> tuple[str, str]:
    """The skill that the attempts of a stage were made with, and the folder that contains them."""
    step = f"steps/step_{made.step:04d}"
    if made.stage == "rollout":
        return f"step {made.step}, training", f"{step}/rollout"
    if made.stage == "test":
        return plain_words(f"test of the {made.label} skill"), f"test/{made.label}"
    if made.closing:
        return _closing(view, made)
    if made.step:
        return f"candidate of step {made.step}", f"{step}/selection"
    if view.evaluated is None:
        return "seed skill", "selection"
    if made.label:
        return f"{made.label} skill", f"{view.evaluated}/{made.label}"
    return "the skill", view.evaluated


def trial_folders(step: StepView) -> Iterator[tuple[Trial, list[str]]]:
    """The trials of a step's edits, each with the folders that may hold its attempts.

    A task that is in several of them was attempted once: the others have the same attempt. The
    search for the tasks that an edit solves among others has no folder of its own.
    """
    for event in step.verified:
        within = f"round_{event.round}/" if event.round > 1 else ""
        home = f"steps/step_{step.number:04d}/{within}verify"
        again = [f"{home}/again_{number:02d}" for number in range(1, len(event.trials) + 1)]
        alone = 0
        for trial in event.trials:
            alone += not trial.joint
            own = "together" if trial.joint else f"alone_{alone:02d}"
            yield trial, [f"{home}/{own}", *([] if trial.joint else again)]


def repeat_folder(folder: str, number: int) -> str:
    """The folder of the repeated attempts with a number, from 1, within that of the first ones."""
    return f"{folder}/draw_{number}" if number > 1 else folder


def _closing(view: RunView, made: Round) -> tuple[str, str]:
    epoch = next((e.number for e in view.epochs if e.step == made.step), 0)
    if not epoch:
        plan = next((s.plan for s in view.steps if s.number == made.step), None)
        epoch = plan.epoch if plan else 0
    same = [r for r in view.rounds if r.closing and r.key == made.key]
    folder = f"slow_update/epoch_{epoch:02d}"
    if made is same[0]:
        return f"guidance of epoch {epoch}", f"{folder}/selection"
    return f"best skill with the guidance of epoch {epoch}", f"{folder}/best/selection"
