"""Results on stdout: as wide as the terminal, and as wide as they are in a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.measure import Measurement

from skillopt_cli.ui.table import FittedTable

_NARROWEST = 80


def console_on(*, stderr: bool) -> Console:
    """A console that uses no escape codes at all where `NO_COLOR` is set."""
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
    # A measurement is cut at the console's width, so it is taken on one that has no end.
    endless = Console(file=sys.stdout, highlight=False, width=100_000)
    width = Measurement.get(endless, endless.options, result).maximum
    wide = Console(highlight=False, width=max(width, _NARROWEST), color_system=None)
    with wide.capture() as captured:
        wide.print(result)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def show_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under their titles, one line each where the width allows it."""
    show(FittedTable(titles, list(rows)))


def show_json(document: Any) -> None:
    """Print one JSON document on a line of its own."""
    typer.echo(json_line(document), nl=False)


def json_line(document: Any) -> str:
    """A JSON document as a line."""
    return f"{json.dumps(document, ensure_ascii=False)}\n"
