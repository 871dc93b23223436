"""`skillopt train`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import typer

from skillopt_cli.cli.execute import display_style, execute
from skillopt_cli.cli.options import (
    BenchmarkArgument,
    JsonLinesOption,
    RecordOption,
    ReplayOption,
    RunId,
)
from skillopt_cli.cli.run_flags import EVERY, with_run_flags
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.request import RunRequest, run_request
from skillopt_cli.compose.run_folder import new_folder, vacant
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.environment import read_environment
from skillopt_cli.engine.session import train_session
from skillopt_cli.planning.planned_request import with_plan
from skillopt_cli.planning.progress import Progress
from skillopt_cli.runlog.text.exit_error import exit_error
from skillopt_cli.runlog.text.format import UNKNOWN, count, out_of, pair, score


@with_run_flags(*EVERY)
def train(
    *,
    benchmark: BenchmarkArgument = None,
    run_id: RunId = None,
    record: RecordOption = None,
    replay: ReplayOption = None,
    json: JsonLinesOption = False,
    overrides: Overrides,
) -> None:
    """Train a skill document on a benchmark.

    Rolls out tasks with the current skill, lets the optimizer read the scored trajectories and
    propose edits, and accepts a candidate only if it scores no worse on the selection split; with
    evaluation.gate_policy=strict, as in the preset paper, only if it scores better.
    """
    request = run_request(overrides, read_environment(), record, replay)
    if run_id is not None:
        vacant(request.config, run_id)
    request = print_plan(request, as_json=json)
    with new_folder(request.config, run_id, datetime.now().astimezone()) as folder:
        code, summary = execute(folder, request, train_session, as_json=json)
    if not json:
        show_result(folder, summary)
    end_training(code)


def end_training(code: int) -> NoReturn:
    """End the command of a finished training.

    Raises:
        NoImprovement, Indecisive: by the exit code, which is none of 0.
        Exit: the exit code is 0.
    """
    raise exit_error(code) or typer.Exit(code)


def print_plan(
    request: RunRequest, progress: Progress | None = None, *, as_json: bool
) -> RunRequest:
    """Print on stderr what the training, or what is left of it, will take; the planned request."""
    request, lines = with_plan(request, progress)
    if display_style(request, as_json=as_json) != "none":
        for line in lines:
            typer.echo(in_shell(line), err=True)
    return request


def show_result(folder: Path, summary: dict[str, Any]) -> None:
    """Print the result of a training: the skill's file, its scores with n, and the verdict."""
    best = "best_skill" if (folder / "best_skill").is_dir() else "best_skill.md"
    typer.echo(f"best skill: {folder / best}")
    metric = summary["gate_metric"]
    base, best = pair(summary["baseline_gate_score"], summary["best_gate_score"])
    reach = [_reach(summary, f"{name}_selection") for name in ("baseline", "best")]
    before = "" if reach[0] == reach[1] else f" {reach[0]}"
    label = "" if metric == "hard" else f" ({metric})"
    fresh = score(summary["best_gate_score_expected"])
    hedge = "" if base == best or fresh == UNKNOWN else f", on fresh tasks about {fresh}"
    typer.echo(f"selection{label}: {base}{before} -> {best} {reach[1]}{hedge}")
    if pruned := summary.get("pruned"):
        removed = sum(block["removed"] for block in pruned["blocks"])
        typer.echo(
            f"pruned: {pruned['chars_before']:,} -> {count(pruned['chars'], 'character')},"
            f" {removed} of {count(len(pruned['blocks']), 'block')} removed"
        )
    # The tests know no mixed score, which would hide which of its parts moved.
    kind = "soft" if metric == "soft" else "hard"
    arms = [("seed", "baseline_test"), ("best", "test"), ("no skill", "no_skill_test")]
    parts = [
        f"{name} {score(summary[f'{key}_{kind}'])} {_reach(summary, key)}"
        for name, key in arms
        if summary.get(f"{key}_{kind}") is not None
    ]
    if parts:
        typer.echo(f"test{'' if metric == 'hard' else f' ({kind})'}: {', '.join(parts)}")
    if summary["verdict"]:
        typer.echo(summary["verdict"]["sentence"])
    for sentence in (summary["majority_baseline"] or {"sentences": ()})["sentences"]:
        typer.echo(sentence)


def _reach(summary: dict[str, Any], name: str) -> str:
    return f"({out_of(summary[f'{name}_scored'], summary[f'{name}_n'])})"
