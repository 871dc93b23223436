"""What a run measured of its best skill: its attempts at selection and test tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from skillopt_cli.runlog.rounds import Round
from skillopt_cli.runlog.view import RunView


def measured_rounds(view: RunView) -> tuple[Round | None, Round | None]:
    """The attempts at selection tasks with the seed, and with the best skill, in a training.

    None for what the log does not hold; the same ones where the best skill is the seed.
    """
    standing = view.standing
    measured = [r for r in view.rounds if r.stage == "measure" and not r.label]
    seed = next((r for r in measured if not r.step), None)
    if not standing.best_step:
        return seed, seed
    closing = bool(standing.best_epoch)
    own = [r for r in measured if r.step == standing.best_step and r.closing == closing]
    if closing:
        # The text with guidance, or the best one with it: whichever scored higher.
        return seed, max(own, key=_right, default=None)
    return seed, own[-1] if own else None


def _right(made: Round) -> float:
    return sum(outcome.hard or 0.0 for outcome in made.outcomes)


def scores_by_task(made: Round, kind: str) -> dict[str, float]:
    """The hard or soft score of each task, the mean of repeated attempts; broken ones are left out.

    Args:
        kind: "soft", or any other for the hard ones.
    """
    values = {o.task: o.soft if kind == "soft" else o.hard for o in made.outcomes.averaged}
    return {task: value for task, value in values.items() if value is not None}


def best_test_scores(view: RunView, kind: Literal["hard", "soft"] = "hard") -> Mapping[str, float]:
    """Scores on test tasks by task: of the best skill of a training, of the one evaluated else.

    Empty where it was not measured.
    """
    tried = {made.label: made for made in view.rounds if made.stage == "test"}
    if not view.total_steps:
        made = next(iter(tried.values()), None)
    elif "best" in view.tests:
        # A best skill equal to the seed is not measured a second time.
        made = tried.get("best") or tried.get("seed")
    else:
        made = None
    return scores_by_task(made, kind) if made else {}
