"""`skillopt train`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from skillopt_cli.cli.options import BenchmarkArgument, JsonOption, RunId
from skillopt_cli.cli.running import carry_out
from skillopt_cli.cli.wishes import with_run_flags
from skillopt_cli.compose.build import Order
from skillopt_cli.compose.folder import new_folder
from skillopt_cli.compose.settings import Wishes, settle
from skillopt_cli.config.environment import read_environment
from skillopt_cli.engine.session import train_session
from skillopt_cli.ui.words import score


@with_run_flags
def train(
    *,
    benchmark: BenchmarkArgument = None,
    run_id: RunId = "",
    json: JsonOption = False,
    wishes: Wishes,
) -> None:
    """Train a skill document on a benchmark.

    Rolls out tasks with the current skill, lets the optimizer read the scored trajectories and
    propose edits, and accepts a candidate only if it scores strictly better on the selection split.
    """
    environment = read_environment()
    config = settle(wishes, environment).config
    order = Order(config, environment)
    with new_folder(config, run_id, datetime.now().astimezone()) as folder:
        code, summary = carry_out(folder, order, train_session, as_json=json)
    if not json:
        show_result(folder, summary)
    raise typer.Exit(code)


def show_result(folder: Path, summary: dict[str, Any]) -> None:
    """What a training came to, on stdout: the skill's file, and its scores with n."""
    typer.echo(f"best skill: {folder / 'best_skill.md'}")
    best, base = summary["best_selection_hard"], summary["baseline_selection_hard"]
    typer.echo(f"selection: {score(base)} -> {score(best)} (n={summary['baseline_selection_n']})")
    if summary.get("test_hard") is not None:
        arms = [("seed", "baseline_test"), ("best", "test"), ("no skill", "no_skill_test")]
        parts = [
            f"{name} {score(summary[f'{key}_hard'])} (n={summary[f'{key}_n']})"
            for name, key in arms
            if summary.get(f"{key}_hard") is not None
        ]
        typer.echo(f"test: {', '.join(parts)}")
