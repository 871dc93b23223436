"""`skillopt benchmarks list` and `skillopt backends list`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.benchmarks.records import read_records
from skillopt_cli.benchmarks.splits import split_files
from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.probe import show_probe
from skillopt_cli.cli.show import show_json, show_table
from skillopt_cli.cli.wishes import ASKING, FILES, with_run_flags
from skillopt_cli.compose.endpoints import MODEL_VARIABLE
from skillopt_cli.compose.settings import Wishes
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.task import SPLITS
from skillopt_cli.plugins import BACKENDS, BENCHMARKS, load_backend, load_benchmark, names
from skillopt_cli.ports import BackendSpec

benchmarks = typer.Typer(help="What skills can be trained on.", no_args_is_help=True)
backends = typer.Typer(help="Which models can be used.", no_args_is_help=True)

Row = dict[str, Any]

_NOT_KNOWN: Row = {
    **dict.fromkeys(("name", "summary", "extra", "missing", "error"), ""),
    **dict.fromkeys(("judged", "runs_programs", "full"), False),
    **dict.fromkeys(("sample", "sizes")),
    "modality": [],
    "options": [],
}
"""The row of a plug-in that cannot be loaded."""

ABILITIES = {"images": "images", "tools": "tools", "json_schema": "JSON schema", "usage": "usage"}
"""What a backend may offer, in the order and the words of the list."""


@benchmarks.command("list")
def list_benchmarks(json: JsonOption = False) -> None:
    """List benchmarks: what each is about and made of, its data, and what is missing to run it."""
    rows = [_benchmark(name) for name in names(BENCHMARKS)]
    if json:
        show_json(rows)
        return
    show_table(
        ("benchmark", "about", "made of", "sample (train/selection/test)", "full data", "state"),
        [
            (
                row["name"],
                row["summary"],
                ", ".join([*row["modality"], *(["a judge"] if row["judged"] else [])]),
                _sizes(row["sample"]),
                _full(row),
                _state(row),
            )
            for row in rows
        ],
    )


@backends.command("list")
@with_run_flags(*FILES, *ASKING)
def list_backends(
    *,
    probe: Annotated[
        bool, typer.Option("--probe", help="Make one tiny call per role of the configuration.")
    ] = False,
    json: JsonOption = False,
    wishes: Wishes,
) -> None:
    """List backends: their roles, what they can do and need, and what of that is there.

    Variables are listed by name only. With --probe, ask the two models that a run with the same
    flags would use, and exit as that run would when one cannot be used.
    """
    environment = read_environment()
    if probe:
        show_probe(wishes, environment, as_json=json)
        return
    rows = [_backend(name, environment) for name in names(BACKENDS)]
    if json:
        show_json(rows)
        return
    show_table(
        ("backend", "roles", "can do", "needs", "state"),
        [
            (
                row["name"],
                ", ".join(row["roles"]),
                ", ".join(words for name, words in ABILITIES.items() if name in row["offers"]),
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
    try:
        spec = load_benchmark(name)
    except ConfigError as fault:
        return _NOT_KNOWN | {"name": name, "error": fault.message}
    return {
        "name": name,
        "summary": spec.summary,
        "modality": list(spec.modality),
        "judged": spec.judged,
        "runs_programs": spec.runs_programs,
        "sample": sample_sizes(spec.sample) if spec.sample else None,
        "sizes": dict(spec.sizes) or None,
        "full": spec.prepare is not None,
        "options": sorted(spec.option_names),
        "extra": spec.extra,
        "missing": spec.missing(),
        "error": None,
    }


def _full(row: Row) -> str:
    """How large the data is that can be downloaded, and how that is done."""
    if not row["full"]:
        return "-"
    command = f"skillopt data prepare {row['name']}"
    return f"{_sizes(row['sizes'])}: {command}" if row["sizes"] else command


def _sizes(sizes: Mapping[str, int] | None) -> str:
    return "/".join(str(sizes[split]) for split in SPLITS) if sizes else "-"


def _backend(name: str, environment: Mapping[str, str]) -> Row:
    try:
        spec = load_backend(name)
    except ConfigError as error:
        return _about(BackendSpec(name, "", frozenset()), {}) | {"error": error.message}
    return _about(spec, environment)


def _about(spec: BackendSpec, environment: Mapping[str, str]) -> Row:
    said = {role: spec.said(role, environment) for role in sorted(spec.roles)}
    for role, found in said.items():
        model = MODEL_VARIABLE.format(ROLE=role.upper())
        if environment.get(model) and not spec.free:
            found.setdefault("name", model)
    return {
        "name": spec.name,
        "summary": spec.summary,
        "roles": sorted(spec.roles),
        "offers": sorted(spec.offers),
        "honours": sorted(spec.honours),
        "free": spec.free,
        "requires": spec.requires,
        "variables": {setting: list(names) for setting, names in spec.variables.items()},
        "present": said,
        "missing": spec.missing(environment),
        "extra": spec.extra,
        "error": None,
    }


def _state(row: Row) -> str:
    if row["error"]:
        return f"broken: {row['error']}"
    if row["missing"]:
        # A variable that is not set comes with no package.
        installable = row["extra"] and not row["missing"].endswith("is not set")
        extra = f" (pip install 'skillopt-cli[{row['extra']}]')" if installable else ""
        return f"missing: {row['missing']}{extra}"
    found = row.get("present", {}).values()
    present = sorted({name for variables in found for name in variables.values()})
    return f"ready: {', '.join(present)}" if present else "ready"
