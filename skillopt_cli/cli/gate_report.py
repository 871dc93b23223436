"""`skillopt gate-report`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import JsonOption, LookupRoot
from skillopt_cli.cli.show import as_text, json_line, show
from skillopt_cli.cli.writing import OutOption, check_vacant, write_out
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
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Run folders or run ids.")],
    out_root: LookupRoot = Path("outputs"),
    format: Annotated[
        Format | None,
        typer.Option(
            help="table for a terminal, md for GitHub, html for a browser, json for programs."
        ),
    ] = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show what each step proposed and how the gate decided; several runs side by side.

    Several runs are compared only where their selection and test tasks are the same. A file named
    by --out has the format that its ending says, unless --format does.
    """
    if json and format not in (None, Format.json):
        raise UsageError(f"--json and --format {format} exclude each other", "give one of the two")
    form = Format.json if json else format or _ENDINGS.get(out.suffix.lower() if out else "")
    if out is not None:
        check_vacant(out)
    folders = [find_run(run, out_root) for run in runs]
    labels = labels_of(folders)
    reported = [
        Reported(label, read_view(folder)) for label, folder in zip(labels, folders, strict=True)
    ]
    differences = apart(labels, folders) if len(reported) > 1 else []
    if form == Format.json:
        _put(out, json_line(report_document(reported, differences)))
        return
    illustrated = form == Format.html
    if len(reported) == 1:
        page = story(reported[0], illustrated=illustrated)
    else:
        page = side_by_side(reported, differences, illustrated=illustrated)
    if form == Format.html:
        _put(out, as_html(page))
    elif form == Format.md:
        _put(out, as_markdown(page))
    elif out is not None:
        _put(out, as_text(as_rich(page)))
    else:
        show(as_rich(page))


_ENDINGS = {".md": Format.md, ".html": Format.html, ".htm": Format.html, ".json": Format.json}


def _put(out: Path | None, text: str) -> None:
    if out is not None:
        write_out(out, text)
    else:
        # As bytes: an HTML page says that it is UTF-8, whatever the terminal is set to.
        typer.echo(text.encode(errors="backslashreplace"), nl=False)
