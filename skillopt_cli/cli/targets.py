"""`skillopt eval --targets`: the same arms with several target models in turn."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from skillopt_cli.cli.arms import measured, show_lint
from skillopt_cli.cli.output import show, show_json
from skillopt_cli.compose.benchmark import open_benchmark
from skillopt_cli.compose.eval_plan import (
    EvalPlan,
    read_evaluation,
    read_plan,
    write_evaluation,
    write_plan,
)
from skillopt_cli.compose.request import RunRequest, run_request
from skillopt_cli.compose.run_folder import dump_config, new_folder
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config import RunConfig
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.layers import Layer, Strength
from skillopt_cli.core.caps import CAPS
from skillopt_cli.core.errors import SkillOptError, UsageError
from skillopt_cli.core.formatting import safe_name
from skillopt_cli.plugins import BACKENDS, names
from skillopt_cli.ports import Benchmark
from skillopt_cli.reports.arms import matrix_document
from skillopt_cli.reports.terminal import matrix_table
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.atomic_files import replace_text
from skillopt_cli.store.layout import EVALUATION
from skillopt_cli.sweeps.budget import used_by

_SETTINGS = "settings.yaml"
_WHOLE = ("max_calls", "max_tokens", "max_rollouts")
_RESUME = re.compile(r"skillopt resume [^ `]+")


def target_names(text: str) -> tuple[str, ...]:
    """The models that --targets lists.

    Raises:
        UsageError: one is empty, or listed twice.
    """
    listed = tuple(name.strip() for name in text.split(","))
    if not all(listed) or len(set(listed)) < len(listed):
        raise UsageError(
            f"`{text}` is no list of different models",
            "for example `--targets small,large`",
        )
    return listed


def compare_targets(
    overrides: Overrides,
    run_id: str | None,
    plan: Callable[[RunConfig, Benchmark], EvalPlan],
    *,
    json: bool,
) -> None:
    """Measure the arms of a plan with each of its targets, and show the result.

    Args:
        plan: the plan, given settings and benchmark.
    """
    base = run_request(replace(overrides, roles=()), read_environment())
    settled = plan(base.config, open_benchmark(base.config))
    requests = _requests(overrides, settled.targets)
    now = datetime.now().astimezone()
    with new_folder(base.config, run_id, now) as folder:
        write_plan(folder, settled)
        replace_text(folder / _SETTINGS, dump_config(base.config, folder))
    _measure(folder, settled, requests, json=json)


def resume_targets(folder: Path, overrides: Overrides, *, json: bool) -> None:
    """Take up the comparison of a run folder with several targets, or show its result."""
    plan = read_plan(folder)
    if (folder / EVALUATION).is_file():
        typer.echo(f"{folder} is finished: nothing to do", err=True)
        _show(folder, read_evaluation(folder), json=json)
        return
    overrides = replace(overrides, config=folder / _SETTINGS, roles=("target",))
    _measure(folder, plan, _requests(overrides, plan.targets), json=json)


def _requests(overrides: Overrides, targets: tuple[str, ...]) -> dict[str, RunRequest]:
    """The request of each target.

    Raises:
        UsageError: another setting names the target, and wins.
    """
    return {name: _request(overrides, name) for name in targets}


def _request(overrides: Overrides, name: str) -> RunRequest:
    """The request of a target: MODEL, or BACKEND:MODEL."""
    backend, colon, model = name.partition(":")
    known = bool(colon) and backend in names(BACKENDS)
    own = {"backend": backend, "name": model} if known else {"name": name}
    layer = Layer("--targets", {"model": {"target": own}}, Strength.FLAG)
    request = run_request(
        replace(overrides, layers=(*overrides.layers, layer)), read_environment(), resumed=True
    )
    for key, wanted in own.items():
        if getattr(request.config.model.target, key) != wanted:
            source = request.sources.get(f"model.target.{key}", "another setting")
            raise UsageError(
                f"--targets names `{name}`, and {source} sets model.target.{key} otherwise",
                "leave that out, or name all targets as BACKEND:MODEL",
            )
    return request


def _measure(
    folder: Path, plan: EvalPlan, requests: Mapping[str, RunRequest], *, json: bool
) -> None:
    homes = {name: folder / safe_name(name) for name in requests}
    found: dict[str, dict[str, Any]] = {}
    for name, request in requests.items():
        others = [RunLog(home).read().view for other, home in homes.items() if other != name]
        capped = replace(request, config=_capped(request.config, others))
        try:
            found[name] = _one(homes[name], capped, replace(plan, targets=()))
        except SkillOptError as error:
            error.hint = _RESUME.sub(f"skillopt resume {folder}", error.hint)
            raise
    result = matrix_document(found)
    write_evaluation(folder, result)
    _show(folder, result, json=json)


def _one(home: Path, request: RunRequest, plan: EvalPlan) -> dict[str, Any]:
    """The result with one target, from its folder where it is complete."""
    if (home / EVALUATION).is_file():
        return read_evaluation(home)
    write_plan(home, plan)
    return measured(home, request, plan)


def _capped(config: RunConfig, others: list[RunView]) -> RunConfig:
    """The settings with what the other targets left of each cap."""
    left: dict[str, float] = {}
    for cap in CAPS:
        limit = getattr(config.run, cap)
        if limit is not None:
            rest = max(0.0, limit - sum(used_by(view).of(cap) for view in others))
            left[cap] = int(rest) if cap in _WHOLE else rest
    return config.model_copy(update={"run": config.run.model_copy(update=left)})


def _show(folder: Path, result: dict[str, Any], *, json: bool) -> None:
    if json:
        show_json(result)
    else:
        show(matrix_table(result))
        for target in result["targets"]:
            show_lint(target, f"lint with {target['target']}", result["repeats"])
        typer.echo(f"details: {folder}")
