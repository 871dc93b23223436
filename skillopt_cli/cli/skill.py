"""`skillopt gate-report` and `skillopt diff-skills`."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.running import read_view
from skillopt_cli.compose.folder import find_run
from skillopt_cli.ui.diff import diff_skills as compare_skills
from skillopt_cli.ui.report import report_document, report_text

OutRoot = Annotated[Path, typer.Option("--out-root", help="Where run ids are looked up.")]


def gate_report(
    runs: Annotated[list[str], typer.Argument(help="Run folders or run ids.")],
    out_root: OutRoot = Path("outputs"),
    json: JsonOption = False,
) -> None:
    """Show what each step proposed and how the gate decided; several runs side by side."""
    views = [read_view(find_run(run, out_root)) for run in runs]
    if json:
        typer.echo(jsonlib.dumps(report_document(views), ensure_ascii=False))
    else:
        Console(highlight=False).print(report_text(views))


def diff_skills(
    a: Annotated[str, typer.Argument(help="Skill file, run folder, or RUN:seed, RUN:best, RUN:3.")],
    b: Annotated[str, typer.Argument(help="The other one.")],
    json: JsonOption = False,
) -> None:
    """Show how two skills differ."""
    difference = compare_skills(a, b)
    if json:
        typer.echo(jsonlib.dumps(difference.document, ensure_ascii=False))
    else:
        Console(highlight=False).print(difference)
