"""`skillopt runs list`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.show import show_json, show_table
from skillopt_cli.compose.folder import CONFIG
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.ui.listing import (
    SORTS,
    Row,
    in_order,
    run_row,
    selection_cell,
    steps_cell,
    test_cell,
    unreadable_row,
)
from skillopt_cli.ui.reading import read_view

app = typer.Typer(help="Runs on this machine.", no_args_is_help=True)


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
    rows = in_order([_row(path.parent) for path in sorted(out_root.glob(f"*/*/{CONFIG}"))], sort)
    if json:
        show_json(rows)
    elif rows:
        titles = (
            "run",
            "status",
            "steps",
            *(f"{split} (hard): seed -> best" for split in ("selection", "test")),
        )
        show_table(titles, [_cells(row) for row in rows])
    else:
        typer.echo(f"no runs under {out_root}", err=True)


def _row(folder: Path) -> Row:
    try:
        return run_row(folder, read_view(folder))
    except DataError as error:
        return unreadable_row(folder, error.message)


def _cells(row: Row) -> tuple[str, ...]:
    return (row["folder"], row["status"], steps_cell(row), selection_cell(row), test_cell(row))
