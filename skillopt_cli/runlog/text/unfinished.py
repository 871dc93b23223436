"""A run that ended before its plan: how far it came, its best skill so far, and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from skillopt_cli.core.caps import cap_flag
from skillopt_cli.core.errors import Interrupted
from skillopt_cli.core.events import RunFailed, RunFinished
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.summary import Status, status
from skillopt_cli.runlog.text.format import SEED, count, one_line, out_of, score
from skillopt_cli.runlog.text.gate import score_name
from skillopt_cli.runlog.verdict import is_compared
from skillopt_cli.runlog.view import RunView

_TITLES: Mapping[Status, str] = {
    "interrupted": "Interrupted",
    "failed": "Failed",
    "budget": "Budget exhausted",
}


def unfinished_words(view: RunView) -> str:
    """Where a run broke off, and its best skill so far; empty while it works and once it finished.

    `Stopped after step 3 of 8. Best skill so far: step 2, val score 0.80 (n=20); the seed has
    0.65.`
    """
    title = _title(view)
    if not title or not view.total_steps:
        return title and f"{title} before its end."
    if not (view.done or view.steps):
        return f"{title} before the first of {count(view.total_steps, 'step')}. {_best_words(view)}"
    place = f"after step {view.done}" if view.done else "before the end of step 1"
    return f"{title} {place} of {view.total_steps}. {_best_words(view)}"


def partial_words(view: RunView, what: str = "its figures are those") -> str:
    """That what a run shows is that so far, and how far it is; empty once it finished.

    `the run second is not finished (running): its figures are those so far, with 2 of 4 steps
    recorded`
    """
    if view.run is None or isinstance(view.ending, RunFinished):
        return ""
    state = (_title(view) or "running").lower()
    planned = view.total_steps
    steps = f", with {view.done} of {count(planned, 'step')} recorded" if planned else ""
    name = one_line(view.run.run_id)
    return f"the run {name} is not finished ({state}): {what} so far{steps}"


def unrecorded_words(view: RunView, step: StepView) -> str:
    """That a step is decided and not recorded; else empty.

    The last step of an epoch is recorded once the epoch's end is done.
    """
    if not step.decided or step.number <= view.done:
        return ""
    if status(view) not in _TITLES:
        return "not recorded yet"
    return "not recorded; a resume decides it again" if can_resume(view) else "not recorded"


def can_resume(view: RunView) -> bool:
    """Whether `skillopt resume` continues the run by itself; never a replay, nor while it works."""
    if isinstance(view.ending, RunFailed):
        return view.ending.resumable
    replayed = view.run is not None and view.run.replay
    return view.deserted and view.total_steps > 0 and not replayed


def resume_command(view: RunView, run: str) -> str:
    """The command that continues the run; empty where there is none.

    Args:
        run: the run's folder or id.
    """
    if not can_resume(view):
        return ""
    higher = f" {cap_flag(cap)} N" if (cap := capped(view)) else ""
    return f"skillopt resume {shlex.quote(run)}{higher}"


def capped(view: RunView) -> str:
    """The cap of `run` that ended the run, which must be higher before it goes on; else empty."""
    return view.ending.reached if isinstance(view.ending, RunFailed) else ""


def _title(view: RunView) -> str:
    """The state of a run that broke off; empty for any other."""
    return "Stopped" if stopped_by_user(view) else _TITLES.get(status(view), "")


def stopped_by_user(view: RunView) -> bool:
    """Whether a person ended the last process of the run before its plan."""
    return isinstance(view.ending, RunFailed) and view.ending.exit_code == Interrupted.exit_code


def _best_words(view: RunView) -> str:
    base, best = view.baseline, view.standing.best
    if base is None or best is None:
        return "No score was measured."
    name = score_name(view.run.metric if view.run else "hard")
    means = view.saved.best if view.saved else None
    reach = out_of(means.scored, means.n) if means else out_of(base.scored, base.n)
    origin = view.standing.best_origin
    others = "" if is_compared(view) else "; no other text is measured yet"
    seed = f"; the seed has {score(base.value)}" if origin != SEED else others
    return f"Best skill so far: {origin}, {name} {score(best)} ({reach}){seed}."
