"""`skillopt benchmarks list` and `skillopt backends list`."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from skillopt_cli.benchmarks.records import read_records
from skillopt_cli.benchmarks.splits import split_files
from skillopt_cli.cli.options import JsonOption
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.plugins import BACKENDS, BENCHMARKS, load_backend, load_benchmark, names

benchmarks = typer.Typer(help="What skills can be trained on.", no_args_is_help=True)
backends = typer.Typer(help="Which models can be used.", no_args_is_help=True)


@benchmarks.command("list")
def list_benchmarks(json: JsonOption = False) -> None:
    """List benchmarks, what each is about, and whether a sample is bundled."""
    rows: list[dict[str, Any]] = []
    for name in names(BENCHMARKS):
        try:
            spec = load_benchmark(name)
        except ConfigError as error:
            rows.append({"name": name, "summary": error.message, "sample": None, "full": False})
            continue
        rows.append({
            "name": name,
            "summary": spec.summary,
            "sample": sample_sizes(spec.sample) if spec.sample else None,
            "full": spec.prepare is not None,
        })
    if json:
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
        return
    table = Table("benchmark", "about", "bundled sample", "full data", box=None)
    for row in rows:
        sample = "/".join(str(n) for n in row["sample"].values()) if row["sample"] else "-"
        full = f"skillopt data prepare {row['name']}" if row["full"] else "-"
        table.add_row(row["name"], row["summary"], sample, full)
    Console(highlight=False).print(table)


def sample_sizes(folder: Path) -> dict[str, int]:
    """Tasks in each split of a bundled sample."""
    return {
        split: sum(1 for _ in read_records(path)) for split, path in split_files(folder).items()
    }


@backends.command("list")
def list_backends(json: JsonOption = False) -> None:
    """List backends, their roles, what they need, and what of that is missing."""
    environment = read_environment()
    rows: list[dict[str, Any]] = []
    for name in names(BACKENDS):
        try:
            spec = load_backend(name)
        except ConfigError as error:
            rows.append({"name": name, "summary": error.message, "missing": "a working plug-in"})
            continue
        rows.append({
            "name": name,
            "summary": spec.summary,
            "roles": sorted(spec.roles),
            "requires": spec.requires,
            "missing": spec.missing(environment),
            "extra": spec.extra,
        })
    if json:
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
        return
    table = Table("backend", "roles", "about", "needs", "state", box=None)
    for row in rows:
        state = f"missing: {row['missing']}" if row["missing"] else "ready"
        roles = ", ".join(row.get("roles", []))
        table.add_row(row["name"], roles, row["summary"], row.get("requires", ""), state)
    Console(highlight=False).print(table)
