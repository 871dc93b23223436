"""`skillopt runs list` and `skillopt runs export`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import ForceOption, JsonOption, LookupRoot, OutOption
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.store.layout import CONFIG, target_folders


class What(StrEnum):
    """What is exported of a run."""

    tasks = "tasks"
    kinds = "kinds"
    labels = "labels"
    confusions = "confusions"
    skill = "skill"


class ExportFormat(StrEnum):
    """How a table is written."""

    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


SORTS = {
    "time": "updated",
    "best": "best_selection_hard",
    "test": "test_hard",
    "gain": "test_delta_hard",
    "usd": "usd_total",
}
"""Orders of the list, and the entry of a row each goes by."""

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
    folders = list(_folders(out_root))
    if folders or json:
        _show(folders, SORTS[sort], as_json=json)
    else:
        typer.echo(f"no runs under {out_root}", err=True)


@app.command("export", context_settings={"allow_extra_args": True})
def export_run(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run folder or run id.")],
    out_root: LookupRoot = Path("outputs"),
    what: Annotated[
        What,
        typer.Option(
            help="tasks: one per row; kinds: of tasks; labels: precision and recall of each;"
            " confusions: which label was taken for which; skill: the best skill without our marks."
        ),
    ] = What.tasks,
    split: Annotated[
        str | None,
        typer.Option(help="train, selection or test; else the last two, or the one measured."),
    ] = None,
    format: Annotated[
        ExportFormat | None, typer.Option(help="Else by the ending of --out; csv on stdout.")
    ] = None,
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """Write the results of a run as a table for other programs, or its best skill.

    Tasks come with their input, the expected answer, and what the seed and the best skill
    answered and scored; those of an evaluation with what each of its skills did.
    """
    if context.args:
        named = [run, *context.args]
        raise UsageError(
            f"one run is exported at a time, and {len(named)} are named",
            f"`skillopt gate-report {shlex.join(named)}` compares them",
        )
    # Imported when it is needed, as reading runs is below.
    from skillopt_cli.cli.runs_export import export_skill, export_table
    from skillopt_cli.store.atomic_files import check_replaceable

    if out is not None:
        check_replaceable(out, force=force)
    if what == What.skill:
        if format or split:
            raise UsageError("--format and --split belong to tables", "leave them out for a skill")
        export_skill(run, out_root, out)
    else:
        export_table(run, out_root, what, split, _format(format, out), out)


def _format(format: ExportFormat | None, out: Path | None) -> ExportFormat:
    """The format that is asked for, else that of the file's ending.

    Raises:
        UsageError: no format has that ending.
    """
    if format or out is None:
        return format or ExportFormat.csv
    ending = out.suffix.lower().removeprefix(".")
    if ending not in list(ExportFormat):
        raise UsageError(
            f"no format has the ending of {out}",
            "the formats are .csv, .jsonl and .parquet: end it in one of them, or give --format",
        )
    return ExportFormat(ending)


def _folders(out_root: Path) -> Iterator[Path]:
    """The folders of all runs; an evaluation with several targets has one for each."""
    for folder in sorted(out_root.glob("*/*")):
        yield from [folder] if (folder / CONFIG).exists() else target_folders(folder)


def _show(folders: list[Path], key: str, *, as_json: bool) -> None:
    # Imported for a list that is not empty: reading runs takes more libraries than all else here.
    from skillopt_cli.cli.output import show_json, show_table
    from skillopt_cli.runlog.text import run_list

    def row(folder: Path) -> run_list.Row:
        try:
            return run_list.read_row(folder)
        except DataError as error:
            return run_list.unreadable_row(folder, error.message)

    rows = run_list.in_order([row(folder) for folder in folders], key)
    if as_json:
        show_json(rows)
    else:
        cells = run_list.CELLS
        show_table(tuple(cells), [[cell(row) for cell in cells.values()] for row in rows])
