"""A run as a row of a list of runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_cli.core.errors import DataError
from skillopt_cli.runlog.text.format import out_of, result_name, score, state_words
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.layout import ANSWERS, EVENTS, SUMMARY, SUMMARY_SCHEMA, target_folders
from skillopt_cli.store.log_lines import last_line

if TYPE_CHECKING:
    from skillopt_cli.runlog.view import RunView

_SHOWN = (
    "run_id",
    "benchmark",
    "status",
    "exit_code",
    "target",
    "optimizer",
    "total_steps",
    "planned_steps",
    "baseline_selection_hard",
    "best_selection_hard",
    "baseline_selection_n",
    "baseline_selection_scored",
    "best_selection_n",
    "best_selection_scored",
    "baseline_test_hard",
    "baseline_test_n",
    "baseline_test_scored",
    "test_hard",
    "test_n",
    "test_scored",
    "test_delta_hard",
    "usd_total",
    "usd_unknown_calls",
)

LARGEST_SUMMARY = 1 << 24
"""Bytes of a summary."""

_OPEN = ("running", "interrupted", "failed", "budget")
"""States of a run that did not reach its end."""

Row = dict[str, Any]


def read_row(folder: Path) -> Row:
    """The entries of a run folder; of a training that ended, as its summary has them.

    Raises:
        DataError: a line of the log cannot be read.
    """
    if (row := summary_row(folder)) is not None:
        return row
    # Imported for a run that has not ended: reading a log takes more than the rest of a list.
    from skillopt_cli.runlog.run_log import read_view

    return run_row(folder, read_view(folder))


def summary_row(folder: Path) -> Row | None:
    """The entries of a training that ended, from its summary; None where that is out of date."""
    log = folder / EVENTS
    try:
        # Whatever was logged since the summary was written may have changed it.
        if (folder / SUMMARY).stat().st_mtime_ns >= log.stat().st_mtime_ns:
            document = json.loads(read_regular(folder / SUMMARY, LARGEST_SUMMARY))
            if document["planned_steps"] and document["status"] != "running":
                updated = float(json.loads(last_line(log))["time"])
                return _entries(folder, document) | {"updated": updated}
    # A summary of another version may lack anything, and the log tells what is wrong with itself.
    except (OSError, ValueError, LookupError, TypeError, DataError):
        pass
    return None


def run_row(folder: Path, view: RunView) -> Row:
    """The entries of a run whose log adds up to `view`; names and numbers as in `summary.json`."""
    from skillopt_cli.runlog.summary import summarise

    row = _entries(folder, summarise(view, expect=False))
    row |= {"paused": view.steering_now.paused, "updated": view.time or None}
    if view.pruned is not None and not view.total_steps:
        row |= {"pruning": True} | _of_selection(view)
    elif not view.total_steps:
        row["evaluated"] = [
            {
                "label": t.label,
                "split": t.split,
                "hard": t.hard,
                "n": t.n,
                "scored": t.scored,
            }
            for t in view.tests.values()
        ]
    return row


def _of_selection(view: RunView) -> Row:
    """The scores of a pruning, before and after, as those of a seed and a best skill."""
    return {
        f"{skill}_selection_{entry}": getattr(found, entry)
        for skill, name in (("baseline", "before"), ("best", "pruned"))
        if (found := view.tests.get(f"{name}_selection"))
        for entry in ("hard", "n", "scored")
    }


def _entries(folder: Path, document: Row) -> Row:
    run = folder.parent if target_folders(folder.parent) else folder
    name = folder.relative_to(run.parent).as_posix()
    shown = {key: document[key] for key in _SHOWN}
    return _empty(folder) | shown | {"run_id": name, "benchmark": run.parent.name}


def unreadable_row(folder: Path, error: str) -> Row:
    """The entries of a run whose log cannot be read."""
    return _empty(folder) | {"run_id": folder.name, "status": "unreadable", "error": error}


def in_order(rows: list[Row], key: str) -> list[Row]:
    """The rows by one of their entries, the latest or best one last."""
    return sorted(rows, key=lambda row: (row[key] is not None, row[key] or 0))


def _empty(folder: Path) -> Row:
    return {
        "schema": SUMMARY_SCHEMA,
        "folder": str(folder),
        "paused": None,
        "updated": None,
        "evaluated": [],
        "pruning": False,
        "error": None,
        **dict.fromkeys(_SHOWN),
    }


def status_cell(row: Row) -> str:
    """The status of a run; of one that is paused what the pause waits for."""
    return state_words(row["status"], row["paused"], row["exit_code"])


def steps_cell(row: Row) -> str:
    """How many of the planned steps are recorded; what a run without steps did instead."""
    if planned := row["planned_steps"]:
        return f"{row['total_steps']} of {planned}"
    if row["pruning"]:
        return "prune"
    if row["evaluated"]:
        return "eval"
    return "answer" if (Path(row["folder"]) / ANSWERS).exists() else "-"


def selection_cell(row: Row) -> str:
    """The hard scores of seed and best skill on the selection split; of a pruning before and after.

    The seed alone where a training has not recorded a step: its best skill is then no finding.
    """
    if row["evaluated"]:
        return "-"
    if not row["total_steps"] and row["status"] in _OPEN and row["baseline_selection_n"]:
        reach = out_of(row["baseline_selection_scored"], row["baseline_selection_n"])
        return f"{score(row['baseline_selection_hard'])} -> - ({reach})"
    return _scores(row, "baseline_selection_hard", "best_selection_hard", "baseline_selection")


def test_cell(row: Row) -> str:
    """The hard scores of seed and best skill on the test split; an evaluation's with its split."""
    if not row["evaluated"]:
        # A run that was stopped may have tested its seed alone.
        counted = "test" if row["test_n"] else "baseline_test"
        return _scores(row, "baseline_test_hard", "test_hard", counted)
    return ", ".join(
        f"{result_name(e['label'])}: {score(e['hard'])} ({out_of(e['scored'], e['n'])})"
        for e in row["evaluated"]
    )


def _scores(row: Row, seed: str, best: str, counted: str) -> str:
    if row[best] is None and row[seed] is None:
        return "-"
    reach = out_of(row[f"{counted}_scored"], row[f"{counted}_n"])
    return f"{score(row[seed])} -> {score(row[best])} ({reach})"


CELLS: dict[str, Callable[[Row], str]] = {
    "run": itemgetter("folder"),
    "status": status_cell,
    "steps": steps_cell,
    "selection (hard): seed -> best": selection_cell,
    "test (hard): seed -> best": test_cell,
}
"""The columns of a list, by their titles."""
