"""`skillopt diff-skills`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import JsonOption, LookupRoot
from skillopt_cli.cli.show import show, show_json
from skillopt_cli.compose.folder import CONFIG, find_run
from skillopt_cli.ui.diff import diff_skills as compare_skills


def diff_skills(
    a: Annotated[str, typer.Argument(help="Skill file, run, or RUN:seed, RUN:best, RUN:3.")],
    b: Annotated[str, typer.Argument(help="The other one.")],
    out_root: LookupRoot = Path("outputs"),
    json: JsonOption = False,
) -> None:
    """Show how two skills differ."""
    difference = compare_skills(_by_id(a, out_root), _by_id(b, out_root))
    if json:
        show_json(difference.document)
    elif sys.stdout.isatty():
        show(difference)
    else:
        # Exact down to white space, so that the output is a patch.
        typer.echo(difference.text, nl=False)
        typer.echo(difference.headline if difference.lines else "the skills are equal")


def _by_id(name: str, out_root: Path) -> str:
    """The name of a skill with a run's folder in place of its id."""
    run, colon, which = name.partition(":")
    if Path(name).exists() or Path(run).exists() or not list(out_root.glob(f"*/{run}/{CONFIG}")):
        return name
    return f"{find_run(run, out_root)}{colon}{which}"
