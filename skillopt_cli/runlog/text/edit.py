"""An edit in words, the same in every display."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_cli.core.edits import REWRITE, SUGGEST, Edit, Trial
from skillopt_cli.core.verification import solved_words
from skillopt_cli.runlog.text.format import count, one_line, shorten

_TASKS = 3
"""Tasks of a trial that are named."""
_VERBS = {
    "append": "add",
    "insert_after": "insert",
    "replace": "replace",
    "delete": "delete",
    SUGGEST: "suggest",
    REWRITE: "rewrite as",
}


def edit_words(edit: Edit, limit: int = 60) -> str:
    """An edit in words; each of its texts takes at most `limit` characters."""
    place = f" in {shorten(edit.file, limit)}" if edit.file else ""
    verb = _VERBS.get(edit.op, one_line(edit.op) or "(no operation)")
    content, target = (f'"{shorten(text, limit)}"' for text in (edit.content, edit.target))
    if edit.op == "insert_after":
        return f"{verb} {content} after {target}{place}"
    if edit.op == "replace":
        return f"{verb} {target} with {content}{place}"
    return f"{verb} {target if edit.op == 'delete' else content}{place}"


def ground_words(edit: Edit) -> str:
    """What an edit rests on: `failure, supported by 5 attempts`."""
    return f"{edit.source}, supported by {count(edit.support, 'attempt')}"


def trial_words(trial: Trial, checked: int | None) -> str:
    """What the trial of an edit showed: how many tasks it solved and broke, and which.

    Args:
        checked: solved tasks that it was tried on beside the failed ones; None where that is
            unknown.
    """
    together = " together with others" if trial.joint else ""
    words = f"{solved_words(trial)}{together}{_broke_words(trial, checked)}"
    named = trial_tasks(trial)
    return f"{words} ({named})" if named else words


def _broke_words(trial: Trial, checked: int | None) -> str:
    """How many solved tasks an edit broke, or that none was tried; empty where that is unknown."""
    if checked:
        return f", broke {len(trial.broke)} of {count(checked, 'solved task')}"
    if trial.broke:
        return f", broke {len(trial.broke)}"
    return "" if checked is None else ", no solved task was tried"


def trial_tasks(trial: Trial) -> str:
    """The first tasks an edit was tried on, by what came out: `solved t1, t2; not t3`."""
    failed = [task for task in trial.tried if task not in trial.fixed]
    parts = (("solved", trial.fixed), ("not", failed), ("broke", trial.broke))
    return "; ".join(f"{what} {_first(tasks)}" for what, tasks in parts if tasks)


def _first(tasks: Sequence[str]) -> str:
    more = len(tasks) - _TASKS
    listed = ", ".join(map(one_line, tasks[:_TASKS]))
    return f"{listed} and {more} more" if more > 0 else listed
