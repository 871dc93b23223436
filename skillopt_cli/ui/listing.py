"""A run as a row of a list of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skillopt_cli.ui.summary import SCHEMA, summarise
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.words import out_of, result_name, score

SORTS = {
    "time": "updated",
    "best": "best_selection_hard",
    "test": "test_hard",
    "gain": "test_delta_hard",
    "usd": "usd_total",
}
"""Orders of a list, and the entry of a row each goes by."""
_SHOWN = (
    "run_id",
    "benchmark",
    "status",
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

Row = dict[str, Any]


def run_row(folder: Path, view: RunView) -> Row:
    """The entries of a run whose log adds up to `view`; names and numbers as in `summary.json`."""
    document = summarise(view)
    row = _empty(folder) | {key: document[key] for key in _SHOWN}
    row |= {"run_id": folder.name, "benchmark": folder.parent.name, "updated": view.time or None}
    if not view.total_steps:
        row["evaluated"] = [
            {
                "label": t.label,
                "split": result_name(t.label),
                "hard": t.hard,
                "n": t.n,
                "scored": t.scored,
            }
            for t in view.tests.values()
        ]
    return row


def unreadable_row(folder: Path, error: str) -> Row:
    """The entries of a run whose log cannot be read."""
    return _empty(folder) | {"run_id": folder.name, "status": "unreadable", "error": error}


def in_order(rows: list[Row], sort: str) -> list[Row]:
    """The rows by a key of `SORTS`, the latest or best one last."""
    key = SORTS[sort]
    return sorted(rows, key=lambda row: (row[key] is not None, row[key] or 0))


def _empty(folder: Path) -> Row:
    return {
        "schema": SCHEMA,
        "folder": str(folder),
        "updated": None,
        "evaluated": [],
        "error": None,
        **dict.fromkeys(_SHOWN),
    }


def steps_cell(row: Row) -> str:
    """How many of the planned steps are recorded; `eval` for an evaluation."""
    planned = row["planned_steps"]
    return "eval" if row["evaluated"] else f"{row['total_steps']} of {planned}" if planned else "-"


def selection_cell(row: Row) -> str:
    """The hard scores of seed and best skill on the selection split."""
    if row["evaluated"]:
        return "-"
    return _scores(row, "baseline_selection_hard", "best_selection_hard", "baseline_selection")


def test_cell(row: Row) -> str:
    """The hard scores of seed and best skill on the test split; an evaluation's with its split."""
    if not row["evaluated"]:
        # A run that was stopped may have tested its seed alone.
        counted = "test" if row["test_n"] else "baseline_test"
        return _scores(row, "baseline_test_hard", "test_hard", counted)
    return ", ".join(
        f"{e['split']}: {score(e['hard'])} ({out_of(e['scored'], e['n'])})"
        for e in row["evaluated"]
    )


def _scores(row: Row, seed: str, best: str, counted: str) -> str:
    if row[best] is None and row[seed] is None:
        return "-"
    reach = out_of(row[f"{counted}_scored"], row[f"{counted}_n"])
    return f"{score(row[seed])} -> {score(row[best])} ({reach})"
