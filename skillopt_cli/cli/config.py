"""`skillopt config show` and `skillopt config import`."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import BenchmarkArgument, JsonOption, OutOption
from skillopt_cli.cli.output import show_json, show_table, write_out
from skillopt_cli.cli.run_flags import EVERY, RunCommand, with_run_flags
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.importer import import_config
from skillopt_cli.plugins import BACKENDS, BENCHMARKS, load_benchmark, names
from skillopt_cli.store.atomic_files import check_vacant

app = typer.Typer(help="Settings and where they come from.", no_args_is_help=True)


@app.command("show", cls=RunCommand)
@with_run_flags(*EVERY)
def show(
    *, benchmark: BenchmarkArgument = None, json: JsonOption = False, overrides: Overrides
) -> None:
    """Print every effective value with the layer it came from."""
    rows = settle(replace(overrides, roles=()), read_environment()).rows()
    if json:
        show_json(rows)
    else:
        show_table(
            ("key", "value", "source"),
            [(row["key"], _shown(row["value"]), row["source"]) for row in rows],
        )


def _shown(value: object) -> str:
    return "-" if value is None else jsonlib.dumps(value, ensure_ascii=False)


@app.command("import")
def import_(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="Configuration of the published system.")
    ],
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Convert a configuration of the published system; what cannot be carried over is listed."""
    imported = import_config(path, names(BACKENDS), _options)
    if out is not None:
        check_vacant(out)
    for key, reason in imported.left:
        typer.echo(f"not carried over: {key} ({reason})", err=True)
    if out is not None:
        write_out(out, imported.text())
    if json:
        left = [{"key": key, "reason": reason} for key, reason in imported.left]
        show_json({"values": imported.values, "not_carried_over": left})
    elif out is None:
        typer.echo(imported.text(), nl=False)


def _options(name: str) -> Collection[str] | None:
    return load_benchmark(name).option_names if name in names(BENCHMARKS) else None
