"""`skillopt runs list`."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.running import read_view
from skillopt_cli.compose.folder import CONFIG
from skillopt_cli.core.errors import UsageError
from skillopt_cli.ui.summary import summarise
from skillopt_cli.ui.words import score

app = typer.Typer(help="Runs on this machine.", no_args_is_help=True)

SORTS = {"time": "run_id", "best": "best_selection_hard", "test": "test_hard"}


@app.command("list")
def list_runs(
    out_root: Annotated[Path, typer.Option(help="Where run folders are.")] = Path("outputs"),
    sort: Annotated[str, typer.Option(help="time, best or test.")] = "time",
    json: JsonOption = False,
) -> None:
    """List runs with their status and scores, best last when sorted by a score."""
    if sort not in SORTS:
        raise UsageError(f"cannot sort by `{sort}`", f"one of {', '.join(SORTS)}")
    rows = [_row(path.parent) for path in sorted(out_root.glob(f"*/*/{CONFIG}"))]
    rows.sort(key=lambda row: (row[SORTS[sort]] is not None, row[SORTS[sort]] or 0))
    if json:
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
        return
    table = Table("run", "status", "steps", "baseline", "best", "test seed", "test best", box=None)
    for row in rows:
        table.add_row(
            row["folder"],
            row["status"],
            f"{row['total_steps']}/{row['planned_steps'] or '?'}",
            score(row["baseline_selection_hard"]),
            score(row["best_selection_hard"]),
            score(row["baseline_test_hard"]),
            score(row["test_hard"]),
        )
    Console(highlight=False).print(table if rows else f"no runs under {out_root}")


def _row(folder: Path) -> dict[str, Any]:
    document = summarise(read_view(folder))
    keys = (
        "run_id",
        "benchmark",
        "status",
        "total_steps",
        "planned_steps",
        "baseline_selection_hard",
        "best_selection_hard",
        "baseline_test_hard",
        "test_hard",
    )
    return {"folder": str(folder), **{key: document.get(key) for key in keys}}
