"""`skillopt gate-report`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.cli.options import JsonOption, LookupRoot
from skillopt_cli.cli.show import show, show_json
from skillopt_cli.compose.comparison import differences, refuse_other_tasks
from skillopt_cli.compose.folder import MANIFEST, find_run
from skillopt_cli.compose.manifest import read_manifest
from skillopt_cli.core.errors import UsageError
from skillopt_cli.ui.page import as_markdown, as_rich
from skillopt_cli.ui.reading import read_view
from skillopt_cli.ui.report import Difference, Reported, report_document, side_by_side, story
from skillopt_cli.ui.report.html import as_html


class Format(StrEnum):
    """How a report is written."""

    table = "table"
    md = "md"
    html = "html"
    json = "json"


def gate_report(
    runs: Annotated[list[str], typer.Argument(help="Run folders or run ids.")],
    out_root: LookupRoot = Path("outputs"),
    format: Annotated[
        Format | None,
        typer.Option(
            help="table for a terminal, md for GitHub, html for a browser, json for programs."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show what each step proposed and how the gate decided; several runs side by side.

    Several runs are compared only where their selection and test tasks are the same.
    """
    if json and format not in (None, Format.json):
        raise UsageError(f"--json and --format {format} exclude each other", "give one of the two")
    folders = [find_run(run, out_root) for run in runs]
    reported = [
        Reported(label, read_view(folder))
        for label, folder in zip(_labels(folders), folders, strict=True)
    ]
    apart = _differences(reported, folders) if len(reported) > 1 else []
    if json or format == Format.json:
        show_json(report_document(reported, apart))
        return
    illustrated = format == Format.html
    if len(reported) == 1:
        page = story(reported[0], illustrated=illustrated)
    else:
        page = side_by_side(reported, apart, illustrated=illustrated)
    if format == Format.html:
        # As bytes: the page says that it is UTF-8, whatever the terminal is set to.
        typer.echo(as_html(page).encode(), nl=False)
    elif format == Format.md:
        typer.echo(as_markdown(page), nl=False)
    else:
        show(as_rich(page))


def _labels(folders: Sequence[Path]) -> list[str]:
    """What runs are called: their id, or their folder where two have the same id."""
    if repeated := [f for f, n in Counter(f.resolve() for f in folders).items() if n > 1]:
        raise UsageError(f"the run {repeated[0]} is named twice", "name different runs")
    ids = Counter(folder.resolve().name for folder in folders)
    return [
        folder.resolve().name if ids[folder.resolve().name] == 1 else str(folder)
        for folder in folders
    ]


def _differences(runs: Sequence[Reported], folders: Sequence[Path]) -> list[Difference]:
    """In what the runs differ.

    Raises:
        UsageError: their scores do not rest on the same tasks.
    """
    manifests: dict[str, Mapping[str, Any]] = {
        run.label: read_manifest(folder / MANIFEST)
        for run, folder in zip(runs, folders, strict=True)
    }
    refuse_other_tasks(manifests)
    found = differences(list(manifests.values()))
    return [Difference(key, values) for key, values in found.items()]
