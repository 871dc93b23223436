"""`skillopt train`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from skillopt_cli.cli.options import BenchmarkArgument, JsonOption, RunId
from skillopt_cli.cli.running import carry_out, display_style
from skillopt_cli.cli.tapes import RecordOption, ReplayOption, settled, taped
from skillopt_cli.cli.wishes import EVERY, with_run_flags
from skillopt_cli.compose.build import Order
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.folder import new_folder, vacant
from skillopt_cli.compose.planning import Progress, planned
from skillopt_cli.compose.settings import Wishes
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.engine.session import train_session
from skillopt_cli.ui.forecast import short_lines
from skillopt_cli.ui.words import out_of, pair, score


@with_run_flags(*EVERY)
def train(
    *,
    benchmark: BenchmarkArgument = None,
    run_id: RunId = None,
    record: RecordOption = None,
    replay: ReplayOption = None,
    json: JsonOption = False,
    wishes: Wishes,
) -> None:
    """Train a skill document on a benchmark.

    Rolls out tasks with the current skill, lets the optimizer read the scored trajectories and
    propose edits, and accepts a candidate only if it scores strictly better on the selection split.
    """
    environment = read_environment()
    resolved = settled(wishes, environment, replay)
    config = resolved.config
    order = taped(Order(config, environment, sources=resolved.sources), record, replay)
    if run_id is not None:
        vacant(config, run_id)
    foretell(order, as_json=json)
    with new_folder(config, run_id, datetime.now().astimezone()) as folder:
        code, summary = carry_out(folder, order, train_session, as_json=json)
    if not json:
        show_result(folder, summary)
    raise typer.Exit(code)


def foretell(order: Order, progress: Progress | None = None, *, as_json: bool) -> None:
    """What the training, or what is left of it, will take, on stderr; a replay takes nothing."""
    if order.replay is not None or display_style(order, as_json=as_json) == "none":
        return
    try:
        lines = list(short_lines(planned(order.config, order.environment, progress=progress)))
    except SkillOptError:
        return  # the run meets the same fault and tells of it
    # Nor does a bug, a plug-in's mostly, stop the run, which leaves a traceback in its folder.
    except Exception as error:
        lines = [f"Plan: none could be made ({type(error).__name__})"]
    for line in lines:
        typer.echo(in_shell(line), err=True)


def show_result(folder: Path, summary: dict[str, Any]) -> None:
    """What a training came to, on stdout: the skill's file, and its scores with n."""
    best = "best_skill" if (folder / "best_skill").is_dir() else "best_skill.md"
    typer.echo(f"best skill: {folder / best}")
    metric = summary["gate_metric"]
    base, best = pair(summary["baseline_gate_score"], summary["best_gate_score"])
    reach = [_reach(summary, f"{name}_selection") for name in ("baseline", "best")]
    before = "" if reach[0] == reach[1] else f" {reach[0]}"
    typer.echo(f"selection{_label(metric)}: {base}{before} -> {best} {reach[1]}")
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


def _label(metric: str) -> str:
    """The metric, where it is not the hard score throughout."""
    return "" if metric == "hard" else f" ({metric})"


def _reach(summary: dict[str, Any], name: str) -> str:
    return f"({out_of(summary[f'{name}_scored'], summary[f'{name}_n'])})"
