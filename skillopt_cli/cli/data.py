"""`skillopt data sample|prepare|check`."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.benchmarks.kit.reference_checks import Finding
from skillopt_cli.benchmarks.kit.repeats import RepeatedTasks
from skillopt_cli.cli.options import BenchmarkArgument, JsonOption
from skillopt_cli.cli.output import show_json
from skillopt_cli.cli.run_flags import DATA, FILES, RunCommand, with_run_flags
from skillopt_cli.compose.benchmark import open_benchmark
from skillopt_cli.compose.executors import passing_executor
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.own_tasks import inferred_line
from skillopt_cli.compose.roles import optimizer_unsuited
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.compose.trust import require_consent
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.runlog.text.format import count

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


@app.command("check", cls=RunCommand)
@with_run_flags(*FILES, *DATA)
def check(
    *, benchmark: BenchmarkArgument = None, json: JsonOption = False, overrides: Overrides
) -> None:
    """Check a benchmark's data: scoring, duplicates, leakage, sizes. Exits with 3 on an error."""
    environment = read_environment()
    unasked = replace(overrides, roles=())
    settled = settle(unasked, environment)
    require_consent(unasked, settled, environment)
    config = settled.config
    if not config.env.name:
        settle(replace(overrides, example="skillopt data check searchqa"), environment)
    try:
        opened = open_benchmark(config)
    except RepeatedTasks as repeated:
        _show([Finding("error", fault.what, fault.hint) for fault in repeated.faults], json)
        raise _faulty(config.env.name, len(repeated.faults)) from None
    with passing_executor(config, environment) as executor:
        findings = asyncio.run(check_data(opened, executor))
    if unsuited := optimizer_unsuited(config, opened, opened.tasks("train")):
        found = Finding("warning", unsuited, "use a model as the optimizer")
        faults = sum(finding.level != "info" for finding in findings)
        findings.insert(faults, found)
    if not json:
        if line := inferred_line(config, settled.sources, settled.unused):
            typer.echo(in_shell(line), err=True)
        typer.echo(f"{opened.name}: {opened.source}")
    _show(findings, json)
    if errors := sum(finding.level == "error" for finding in findings):
        raise _faulty(opened.name, errors)


def _show(findings: Sequence[Finding], json: bool) -> None:
    if json:
        show_json([asdict(f) for f in findings])
        return
    for finding in findings:
        typer.echo(f"{finding.level}: {finding.what}")
        if finding.hint:
            typer.echo(f"  hint: {in_shell(finding.hint)}")
    if not findings:
        typer.echo("no faults found")


def _faulty(name: str, errors: int) -> DataError:
    return DataError(f"the data of `{name}` has {count(errors, 'error')}", "correct what is listed")
