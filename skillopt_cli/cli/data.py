"""`skillopt data sample|prepare|check`."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.benchmarks.check import check_data
from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.show import show_json
from skillopt_cli.cli.wishes import DATA, FILES, with_run_flags
from skillopt_cli.compose.build import open_benchmark
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.housing import passing_executor
from skillopt_cli.compose.settings import Wishes, settle
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.ui.words import count

app = typer.Typer(help="Task data: samples, downloads, checks.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="BENCHMARK", help="See `skillopt benchmarks list`.")]


@app.command("sample")
def sample(
    benchmark: Name,
    out: Annotated[Path | None, typer.Option(help="Folder; default data/BENCHMARK-sample.")] = None,
    json: JsonOption = False,
) -> None:
    """Write the bundled sample to a folder, to look at or to start your own data from."""
    spec = load_benchmark(benchmark)
    if spec.sample is None:
        raise UsageError(
            f"benchmark `{benchmark}` has no bundled sample", "see `skillopt benchmarks list`"
        )
    target = out or Path("data") / f"{benchmark}-sample"
    if target.exists():
        raise UsageError(f"{target} exists already", "choose another folder with --out")
    try:
        shutil.copytree(spec.sample, target)
    except OSError as error:
        raise DataError(
            f"cannot write {target}: {error.strerror or error}", "choose another folder with --out"
        ) from None
    if json:
        show_json({"folder": str(target)})
    else:
        typer.echo(f"wrote {target}; use it with --split-dir {target}")


@app.command("prepare")
def prepare(
    benchmark: Name,
    out: Annotated[Path | None, typer.Option(help="Folder; default data/BENCHMARK.")] = None,
    manifest_dir: Annotated[
        Path | None, typer.Option(help="Folder with published lists of task ids.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Download a benchmark's full data and cut it into splits."""
    spec = load_benchmark(benchmark)
    if spec.prepare is None:
        raise UsageError(
            f"benchmark `{benchmark}` has nothing to download", "see `skillopt benchmarks list`"
        )
    target = out or Path("data") / benchmark
    counts = spec.prepare(target, manifest_dir)
    if json:
        show_json({"folder": str(target), "tasks": dict(counts)})
        return
    listed = ", ".join(f"{count} {split}" for split, count in counts.items())
    typer.echo(f"wrote {listed} tasks to {target}")


@app.command("check")
@with_run_flags(*FILES, *DATA)
def check(*, benchmark: Name, json: JsonOption = False, wishes: Wishes) -> None:
    """Check a benchmark's data: scoring, duplicates, leakage, sizes. Exits with 3 on an error."""
    environment = read_environment()
    config = settle(replace(wishes, roles=()), environment).config
    opened = open_benchmark(config)
    with passing_executor(config, environment) as executor:
        findings = asyncio.run(check_data(opened, executor))
    if json:
        show_json([asdict(f) for f in findings])
    else:
        typer.echo(f"{benchmark}: {opened.source}")
        for finding in findings:
            typer.echo(f"{finding.level}: {finding.what}")
            if finding.hint:
                typer.echo(f"  hint: {in_shell(finding.hint)}")
        if not findings:
            typer.echo("no faults found")
    errors = sum(finding.level == "error" for finding in findings)
    if errors:
        raise DataError(
            f"the data of `{benchmark}` has {count(errors, 'error')}", "mend what is listed"
        )
