"""`skillopt gate-report`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import JsonOption, LookupRoot
from skillopt_cli.cli.show import show, show_json
from skillopt_cli.compose.folder import find_run
from skillopt_cli.core.errors import UsageError
from skillopt_cli.ui.page import as_markdown, as_rich
from skillopt_cli.ui.reading import read_view
from skillopt_cli.ui.report import (
    Reported,
    apart,
    labels_of,
    report_document,
    side_by_side,
    story,
)
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
    labels = labels_of(folders)
    reported = [
        Reported(label, read_view(folder)) for label, folder in zip(labels, folders, strict=True)
    ]
    differences = apart(labels, folders) if len(reported) > 1 else []
    if json or format == Format.json:
        show_json(report_document(reported, differences))
        return
    illustrated = format == Format.html
    if len(reported) == 1:
        page = story(reported[0], illustrated=illustrated)
    else:
        page = side_by_side(reported, differences, illustrated=illustrated)
    if format == Format.html:
        # As bytes: the page says that it is UTF-8, whatever the terminal is set to.
        typer.echo(as_html(page).encode(), nl=False)
    elif format == Format.md:
        typer.echo(as_markdown(page), nl=False)
    else:
        show(as_rich(page))
