"""The command that continues a sweep gives the flags that the sweep was started with."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from skillopt_cli.cli.run_flags import EVERY, RunCommand, with_run_flags
from skillopt_cli.cli.sweep import GridArgument, JobsOption
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.sweeps.command import sweep_command
from skillopt_cli.sweeps.trials import sweep_of

GIVEN = (
    (),
    ("--jobs", "3"),
    ("--preset", "tiny", "--epochs", "2"),
    ("--config", "my settings.yaml", "--trust"),
    ("--max-calls", "40", "--max-usd", "0.5"),
    ("--set", "train.batch_size=4", "--set", "env.split_ratio=2:1:7 by kind"),
    ("--out-root", "else where", "--display", "none"),
    ("--require-improvement", "--target-model", "it's"),
)


def asked(*words: str) -> tuple[Path, int, Overrides]:
    """What `skillopt sweep` is asked for by these words; nothing is carried out."""
    found: list[tuple[Path, int, Overrides]] = []

    @with_run_flags(*EVERY)
    def sweep(*, grid: GridArgument, jobs: JobsOption = 1, overrides: Overrides) -> None:
        found.append((grid, jobs, replace(overrides, consent=Overrides().consent)))

    app = typer.Typer()
    app.command(cls=RunCommand)(sweep)
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    return found[0]


@pytest.mark.parametrize("given", GIVEN)
def test_the_command_asks_for_what_was_asked_for(given: tuple[str, ...]) -> None:
    grid, jobs, overrides = asked("my rates.yaml", *given)
    program, name, *words = shlex.split(sweep_command(grid, overrides, jobs))
    assert (program, name) == ("skillopt", "sweep")
    assert sorted(words) == sorted(["my rates.yaml", *given])
    assert asked(*words) == (grid, jobs, overrides)


@pytest.mark.parametrize(
    ("run_id", "sweep"),
    [
        ("rates-0123abcd", "rates"),
        ("rates-0123abcd-seed7", "rates"),
        ("my-rates-0123abcd-seed-1", "my-rates"),
        ("rates", ""),
        ("rates-0123abcd-again", ""),
        ("2026-01-31_10-30-00", ""),
    ],
)
def test_a_run_id_names_its_sweep(run_id: str, sweep: str) -> None:
    assert sweep_of(run_id) == sweep
