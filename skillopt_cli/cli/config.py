"""`skillopt config show`, `skillopt config prompts` and `skillopt config import`."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import BenchmarkArgument, JsonOption, OutOption
from skillopt_cli.cli.output import show_json, show_table, write_out
from skillopt_cli.cli.run_flags import EVERY, RunCommand, with_run_flags
from skillopt_cli.compose.prompts import check_name, shipped_prompts
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.importer import import_config
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.permissions import make_folder
from skillopt_cli.plugins import BACKENDS, BENCHMARKS, load_benchmark, names
from skillopt_cli.stages.prompt_specs import PROMPTS
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


@app.command("prompts")
def prompts(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Print this one; else list all.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write NAME.md of it, or of all, to this folder.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the built-in prompts of the optimizer, print one, or write them to a folder.

    A folder of changed ones is used with `optimizer.prompts_dir=FOLDER`.
    """
    if name is not None:
        check_name(name)
    shipped = shipped_prompts()
    texts = {each: shipped[each] for each in PROMPTS if name in (None, each)}
    if out is not None:
        _write_prompts(out, texts)
    if json:
        show_json([{"name": each, **asdict(PROMPTS[each]), "text": texts[each]} for each in texts])
    elif out is None and name is not None:
        typer.echo(texts[name], nl=False)
    elif out is None:
        rows = [(each, PROMPTS[each].summary, PROMPTS[each].used) for each in texts]
        show_table(("prompt", "asks for", "sent with"), rows)


def _write_prompts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write each text to NAME.md in a folder, which is made; none where one of them exists.

    Raises:
        UsageError: a file is there already.
        DataError: the folder cannot be made or written.
    """
    paths = {folder / f"{name}.md": text for name, text in texts.items()}
    for path in paths:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} exists already", "choose another folder with --out")
    try:
        make_folder(folder)
    except OSError as error:
        raise DataError(
            f"cannot write {folder}: {error.strerror or error}", "choose another folder with --out"
        ) from None
    for path, text in paths.items():
        write_out(path, text)


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
