"""`skillopt benchmarks list` and `skillopt backends list`, with `--probe`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.benchmarks.kit.records import read_records
from skillopt_cli.benchmarks.kit.splits import split_files
from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.output import show_json, show_table
from skillopt_cli.cli.run_flags import ASKING, FILES, RunCommand, with_run_flags
from skillopt_cli.compose.endpoints import MODEL_VARIABLE
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.settings import Overrides, shown_secrets
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.task import SPLITS, Usage
from skillopt_cli.doctor.probe import ProbeResult, probe
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
_SHOWN = 100


def show_probe(overrides: Overrides, environment: Mapping[str, str], *, as_json: bool) -> None:
    """Ask both roles and print what came of it.

    Raises:
        typer.Exit: with the code that a run would end with when a role cannot be used; that of the
            first one where they differ.
    """
    hide = shown_secrets(overrides, environment).hide
    found = asyncio.run(probe(overrides, environment))
    if as_json:
        show_json([document(probed, hide) for probed in found])
    else:
        for probed in found:
            for line in lines(probed):
                typer.echo(hide(line))
    failed = next((probed for probed in found if probed.failed), None)
    if failed is not None:
        raise typer.Exit(failed.code)


def document(probed: ProbeResult, hide: Callable[[str], str]) -> dict[str, Any]:
    """A probed role as JSON, without any key."""
    row = asdict(probed) | {"ok": not probed.failed}
    seconds = None if probed.seconds is None else round(probed.seconds, 3)
    return {name: hide(v) if isinstance(v, str) else v for name, v in row.items()} | {
        "seconds": seconds
    }


def lines(probed: ProbeResult) -> Iterator[str]:
    """A probed role for people."""
    model = f"/{probed.model}" if probed.model and probed.model != probed.backend else ""
    place = f" at {probed.address}" if probed.address else ""
    yield f"{probed.role}: {probed.backend}{model}{place}"
    if probed.seconds is not None:
        yield f"  answered in {probed.seconds:.2f} s ({probed.finish}): {_quoted(probed.answer)}"
        yield f"  usage: {_tokens(probed.usage)}"
    if probed.read:
        yield f"  read as: {_quoted(probed.read)}"
    if probed.note:
        yield f"  note: {probed.note}"
    if probed.failed:
        title = "not set up" if probed.code == ConfigError.exit_code else "error"
        yield f"  {title}: {probed.error}"
        yield f"  hint: {in_shell(probed.hint)}"


def _tokens(usage: Usage | None) -> str:
    if usage is None or usage.prompt_tokens is usage.completion_tokens is None:
        return "unknown, the service does not report it"
    parts = [f"{_known(usage.prompt_tokens)} read", f"{_known(usage.completion_tokens)} written"]
    parts += [f"{usage.cached_tokens} of them cached"] if usage.cached_tokens else []
    parts += [f"{usage.reasoning_tokens} for reasoning"] if usage.reasoning_tokens else []
    return f"tokens {', '.join(parts)}"


def _known(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line[:_SHOWN]}…"' if len(line) > _SHOWN else f'"{line}"'


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


@backends.command("list", cls=RunCommand)
@with_run_flags(*FILES, *ASKING)
def list_backends(
    *,
    probe: Annotated[
        bool, typer.Option("--probe", help="Make one short call per role of the configuration.")
    ] = False,
    json: JsonOption = False,
    overrides: Overrides,
) -> None:
    """List backends: their roles, what they can do and need, and what of that is there.

    Variables are listed by name only. With --probe, ask the two models that a run with the same
    flags would use, and exit as that run would: with 2 when one is not set up, with 4 when one
    does not answer.
    """
    environment = read_environment()
    if probe:
        show_probe(overrides, environment, as_json=json)
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
    free = ", ".join(row["name"] for row in rows if row["free"])
    typer.echo(
        f"\nNo key is needed for {free} (`--preset demo` takes local and rules), for a server of"
        " your own (OPENAI_COMPATIBLE_BASE_URL=http://127.0.0.1:8000/v1), and to repeat a run"
        " from its recording (--replay FILE).",
        err=True,
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
    said = {role: spec.variables_set(role, environment) for role in sorted(spec.roles)}
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
