"""`skillopt eval --arms`: several skills on the same tasks in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import typer

from skillopt_cli.api.planned import compared, planned, write_answers
from skillopt_cli.cli.answer import run_answer, show_answers
from skillopt_cli.cli.execute import execute, nothing_to_do, warn_of_long_skills
from skillopt_cli.cli.output import show, show_json
from skillopt_cli.cli.prune import run_prune, show_prune
from skillopt_cli.compose.benchmark import open_benchmark
from skillopt_cli.compose.eval_plan import (
    EvalPlan,
    read_evaluation,
    write_evaluation,
    write_plan,
)
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.run_folder import new_folder
from skillopt_cli.config import RunConfig
from skillopt_cli.core.events import RunFinished
from skillopt_cli.ports import Benchmark
from skillopt_cli.reports.export.answers import read_answers
from skillopt_cli.reports.task_lint import lint_lines
from skillopt_cli.reports.terminal import arms_table
from skillopt_cli.runlog.run_log import RunLog


def compare(
    request: RunRequest,
    run_id: str | None,
    plan: Callable[[RunConfig, Benchmark], EvalPlan],
    *,
    json: bool,
) -> None:
    """Measure the arms of a plan in a new run folder, and show the result.

    Args:
        plan: the plan, given settings and benchmark.
    """
    benchmark = open_benchmark(request.config)
    request = replace(request, benchmark=benchmark)
    settled = plan(request.config, benchmark)
    now = datetime.now().astimezone()
    with new_folder(request.config, run_id, now) as folder:
        write_plan(folder, settled)
        _measure(folder, request, settled, json=json)


def resume_evaluation(folder: Path, request: RunRequest, plan: EvalPlan, *, json: bool) -> None:
    """Take up the evaluation of a run folder, or show the result of a finished one.

    Raises:
        DataError: what the folder holds cannot be read.
    """
    view = RunLog(folder).read().view
    finished = isinstance(view.ending, RunFinished) and (folder / plan.result).exists()
    if finished:
        nothing_to_do(folder, planned(request, plan))
    if plan.pruned and finished and view.pruned is not None:
        show_prune(folder, view.pruned, plan, json=json)
    elif plan.pruned:
        run_prune(folder, request, plan, json=json)
    elif not plan.scored and finished:
        rows = read_answers(folder)
        write_answers(rows, plan)
        show_answers(rows, plan, json=json)
    elif not plan.scored:
        run_answer(folder, request, plan, json=json)
    elif finished:
        _show(folder, read_evaluation(folder), json=json)
    else:
        _measure(folder, request, plan, json=json)


def _measure(folder: Path, request: RunRequest, plan: EvalPlan, *, json: bool) -> None:
    _show(folder, measured(folder, request, plan), json=json)


def measured(folder: Path, request: RunRequest, plan: EvalPlan) -> dict[str, Any]:
    """Measure the arms of a plan in its run folder, and write the result."""
    warn_of_long_skills(request, {f"the skill {arm.name}": arm.skill for arm in plan.arms})
    work = partial(compared, plan=plan)
    result, _ = execute(folder, planned(request, plan), work, as_json=False)
    write_evaluation(folder, result)
    return result


def _show(folder: Path, result: dict[str, Any], *, json: bool) -> None:
    if json:
        show_json(result)
    else:
        show(arms_table(result))
        show_lint(result, "lint", result["repeats"])
        typer.echo(f"details: {folder}")


def show_lint(result: dict[str, Any], title: str, repeats: int) -> None:
    """Print the findings on the tasks of a result, if they were asked for."""
    if "lint" in result:
        typer.echo(f"\n{title}")
        for line in lint_lines(result["lint"], result["arms"][0]["n_items"], repeats):
            typer.echo(f"  {line}")
