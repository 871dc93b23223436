"""An edit in words, the same in every display."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_cli.core.edits import REWRITE, SUGGEST, Edit, Source, Trial
from skillopt_cli.core.verification import solved_words
from skillopt_cli.runlog.text.format import count, one_line, shorten

_TASKS = 3
"""Tasks of a trial that are named."""
_ATTEMPTS: dict[Source, str] = {
    "failure": "failed attempt",
    "success": "successful attempt",
    "merged": "attempt",
}
"""What an edit rests on, by its source."""
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
    """What an edit rests on: `from 5 failed attempts`."""
    attempt = _ATTEMPTS[edit.source]
    return f"from {count(edit.support, attempt)}" if edit.support else f"from {attempt}s"


def ground_line(words: str, tasks: Sequence[str]) -> str:
    """What an edit rests on, with the first of the tasks that it is for, if it names any.

    Args:
        words: as `ground_words` has them.
    """
    noun = "task" if len(tasks) == 1 else "tasks"
    return f"{words}; for {noun} {first_tasks(tasks)}" if tasks else words


def trial_words(trial: Trial, checked: int = 0) -> str:
    """What the trial of an edit showed: how many tasks it solved and broke, and which.

    Args:
        checked: solved tasks that it was tried on beside the failed ones; 0 for none or unknown.
    """
    if trial.joint:
        tasks = count(len(trial.tried), "task")
        solved = f"with other edits, it solved {len(trial.fixed)} of {tasks}"
    else:
        solved = f"it {solved_words(trial)}"
    needed = f", {trial.needed} needed to pass" if trial.tried else ""
    return f"{solved}{_named(trial.fixed)}{needed}{_broke_words(trial, checked)}"


def _broke_words(trial: Trial, checked: int) -> str:
    """How many solved tasks an edit broke; empty where none was tried."""
    if not (checked or trial.broke):
        return ""
    of = f" of {count(checked, 'solved task')}" if checked else ""
    return f", broke {len(trial.broke)}{of}{_named(trial.broke)}"


def _named(tasks: Sequence[str]) -> str:
    return f" ({first_tasks(tasks)})" if tasks else ""


def first_tasks(tasks: Sequence[str]) -> str:
    """The first of some tasks, and how many more there are."""
    more = len(tasks) - _TASKS
    listed = ", ".join(map(one_line, tasks[:_TASKS]))
    return f"{listed} and {more} more" if more > 0 else listed
