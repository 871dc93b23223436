"""`skillopt benchmarks list` and `skillopt backends list`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from skillopt_cli.benchmarks.records import read_records
from skillopt_cli.benchmarks.splits import split_files
from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.show import show_json, show_table
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.plugins import BACKENDS, BENCHMARKS, load_backend, load_benchmark, names

benchmarks = typer.Typer(help="What skills can be trained on.", no_args_is_help=True)
backends = typer.Typer(help="Which models can be used.", no_args_is_help=True)

Row = dict[str, Any]


@benchmarks.command("list")
def list_benchmarks(json: JsonOption = False) -> None:
    """List benchmarks, what each is about, and whether a sample is bundled."""
    rows = [_benchmark(name) for name in names(BENCHMARKS)]
    if json:
        show_json(rows)
        return
    show_table(
        ("benchmark", "about", "sample (train/selection/test)", "full data"),
        [
            (
                row["name"],
                row["error"] or row["summary"],
                "/".join(str(n) for n in row["sample"].values()) if row["sample"] else "-",
                f"skillopt data prepare {row['name']}" if row["full"] else "-",
            )
            for row in rows
        ],
    )


@backends.command("list")
def list_backends(json: JsonOption = False) -> None:
    """List backends, their roles, what they need, and what of that is missing."""
    environment = read_environment()
    rows = [_backend(name, environment) for name in names(BACKENDS)]
    if json:
        show_json(rows)
        return
    show_table(
        ("backend", "roles", "about", "needs", "state"),
        [
            (
                row["name"],
                ", ".join(row["roles"]),
                row["error"] or row["summary"],
                row["requires"],
                _state(row),
            )
            for row in rows
        ],
    )


def sample_sizes(folder: Path) -> dict[str, int]:
    """Tasks in each split of a bundled sample."""
    return {
        split: sum(1 for _ in read_records(path)) for split, path in split_files(folder).items()
    }


def _benchmark(name: str) -> Row:
    row: Row = {"name": name, "summary": "", "sample": None, "full": False, "error": None}
    try:
        spec = load_benchmark(name)
    except ConfigError as error:
        return row | {"error": error.message}
    sample = sample_sizes(spec.sample) if spec.sample else None
    return row | {"summary": spec.summary, "sample": sample, "full": spec.prepare is not None}


def _backend(name: str, environment: Mapping[str, str]) -> Row:
    row: Row = {
        "name": name,
        "summary": "",
        "roles": [],
        "requires": "",
        "missing": "",
        "extra": "",
        "error": None,
    }
    try:
        spec = load_backend(name)
    except ConfigError as error:
        return row | {"error": error.message}
    return row | {
        "summary": spec.summary,
        "roles": sorted(spec.roles),
        "requires": spec.requires,
        "missing": spec.missing(environment),
        "extra": spec.extra,
    }


def _state(row: Row) -> str:
    if row["error"]:
        return "broken"
    if not row["missing"]:
        return "ready"
    extra = f" (pip install 'skillopt-cli[{row['extra']}]')" if row["extra"] else ""
    return f"missing: {row['missing']}{extra}"
