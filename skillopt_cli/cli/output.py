"""Results on stdout, or in a file that the user names with --out.

What draws them is imported when one is drawn: documents are printed without it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from skillopt_cli.store.atomic_files import replace_bytes, replace_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_NARROWEST = 80


def console_on(*, stderr: bool) -> Console:
    """A console that uses no escape codes at all where `NO_COLOR` is set."""
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    return (
        Console(stderr=stderr, highlight=False, color_system=None) if console.no_color else console
    )


def show(result: RenderableType) -> None:
    """Print a result for people; in a pipe no line of it is wrapped or padded."""
    console = console_on(stderr=False)
    if console.is_terminal:
        console.print(result)
        return
    typer.echo(as_text(result), nl=False)


def as_text(result: RenderableType) -> str:
    """A result for people as plain text, no line of it wrapped or padded."""
    from rich.console import Console
    from rich.measure import Measurement

    # A measurement is cut at the console's width, so it is taken on one that has no end.
    endless = Console(file=sys.stdout, highlight=False, width=100_000)
    width = Measurement.get(endless, endless.options, result).maximum
    wide = Console(highlight=False, width=max(width, _NARROWEST), color_system=None)
    with wide.capture() as captured:
        wide.print(result)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def show_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under their titles, one line each where the width allows it."""
    from skillopt_cli.ui.fitted_table import FittedTable

    show(FittedTable(titles, list(rows)))


def show_json(document: Any) -> None:
    """Print one JSON document on a line of its own."""
    typer.echo(json_line(document), nl=False)


def json_line(document: Any) -> str:
    """A JSON document as a line."""
    return f"{json.dumps(document, ensure_ascii=False)}\n"


def write_out(out: Path, result: str | bytes) -> None:
    """Write a result, and say so on stderr.

    Raises:
        DataError: the disk is full or the folder not writable.
    """
    if isinstance(result, str):
        replace_text(out, result)
    else:
        replace_bytes(out, result)
    typer.echo(f"wrote {out}", err=True)


def put(out: Path | None, result: str | bytes) -> None:
    """Write a result where the user wants it: to a file, or to stdout byte for byte.

    Raises:
        DataError: the disk is full or the folder not writable.
    """
    if out is not None:
        write_out(out, result)
        return
    # As bytes: an HTML page says that it is UTF-8, whatever the terminal is set to.
    data = result if isinstance(result, bytes) else result.encode(errors="backslashreplace")
    typer.echo(data, nl=False)
