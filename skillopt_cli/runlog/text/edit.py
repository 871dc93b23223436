"""An edit in words, the same in every display."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_cli.core.edits import REWRITE, SUGGEST, Edit, Trial
from skillopt_cli.core.verification import solved_words
from skillopt_cli.runlog.text.format import one_line, shorten

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


def trial_words(trial: Trial) -> str:
    """What the trial of an edit showed: how many tasks it solved and broke, and which."""
    together = " together with others" if trial.joint else ""
    words = f"{solved_words(trial)}{together}, broke {len(trial.broke)}"
    named = trial_tasks(trial)
    return f"{words} ({named})" if named else words


def trial_tasks(trial: Trial) -> str:
    """The first tasks an edit was tried on, by what came out: `solved t1, t2; not t3`."""
    failed = [task for task in trial.tried if task not in trial.fixed]
    parts = (("solved", trial.fixed), ("not", failed), ("broke", trial.broke))
    return "; ".join(f"{what} {_first(tasks)}" for what, tasks in parts if tasks)


def _first(tasks: Sequence[str]) -> str:
    more = len(tasks) - _TASKS
    listed = ", ".join(map(one_line, tasks[:_TASKS]))
    return f"{listed} and {more} more" if more > 0 else listed
