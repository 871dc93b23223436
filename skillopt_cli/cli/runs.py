"""`skillopt runs list`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.running import read_view
from skillopt_cli.cli.show import show_json, show_table
from skillopt_cli.compose.folder import CONFIG
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.ui.summary import SCHEMA, summarise
from skillopt_cli.ui.words import out_of, score

app = typer.Typer(help="Runs on this machine.", no_args_is_help=True)

SORTS = {
    "time": "updated",
    "best": "best_selection_hard",
    "test": "test_hard",
    "gain": "test_delta_hard",
    "usd": "usd_total",
}
SHOWN = (
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


@app.command("list")
def list_runs(
    out_root: Annotated[Path, typer.Option(help="Where run folders are.")] = Path("outputs"),
    sort: Annotated[str, typer.Option(help="time, best, test, gain or usd.")] = "time",
    json: JsonOption = False,
) -> None:
    """List runs with their status and hard scores.

    The latest one is last; or the one with the best selection score (best), the best test score
    (test), the largest gain in it (gain), or the highest price (usd). Runs without it come first.
    """
    if sort not in SORTS:
        raise UsageError(f"cannot sort by `{sort}`", f"one of {', '.join(SORTS)}")
    rows = [_row(path.parent) for path in sorted(out_root.glob(f"*/*/{CONFIG}"))]
    rows.sort(key=lambda row: (row[SORTS[sort]] is not None, row[SORTS[sort]] or 0))
    if json:
        show_json(rows)
    elif rows:
        titles = ("run", "status", "steps", "selection: seed -> best", "test: seed -> best")
        show_table(titles, [_cells(row) for row in rows])
    else:
        typer.echo(f"no runs under {out_root}", err=True)


def _row(folder: Path) -> dict[str, Any]:
    row: dict[str, Any] = {
        "schema": SCHEMA,
        "folder": str(folder),
        "updated": None,
        "evaluated": [],
        "error": None,
        **dict.fromkeys(SHOWN),
    }
    try:
        view = read_view(folder)
    except DataError as error:
        return row | {"run_id": folder.name, "status": "unreadable", "error": error.message}
    document = summarise(view)
    row |= {key: document[key] for key in SHOWN}
    row |= {"run_id": folder.name, "benchmark": folder.parent.name, "updated": view.time or None}
    if not view.total_steps:
        row["evaluated"] = [
            {"label": t.label, "hard": t.hard, "n": t.n, "scored": t.scored}
            for t in view.tests.values()
        ]
    return row


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    planned = row["planned_steps"]
    if row["evaluated"]:
        shown = [
            f"{'test' if e['label'] == 'eval' else e['label']}: {score(e['hard'])}"
            f" ({out_of(e['scored'], e['n'])})"
            for e in row["evaluated"]
        ]
        return row["folder"], row["status"], "eval", "-", ", ".join(shown)
    return (
        row["folder"],
        row["status"],
        f"{row['total_steps']}/{planned}" if planned else "-",
        _scores(row, "baseline_selection_hard", "best_selection_hard", "baseline_selection"),
        _scores(row, "baseline_test_hard", "test_hard", "test"),
    )


def _scores(row: dict[str, Any], seed: str, best: str, counted: str) -> str:
    if row[best] is None and row[seed] is None:
        return "-"
    reach = out_of(row[f"{counted}_scored"], row[f"{counted}_n"])
    return f"{score(row[seed])} -> {score(row[best])} ({reach})"
