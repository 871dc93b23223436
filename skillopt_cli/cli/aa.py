"""`skillopt aa`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import typer

from skillopt_cli.cli.execute import execute, note_unused_settings
from skillopt_cli.cli.options import BenchmarkArgument, JsonOption, RunId, SkillArgument
from skillopt_cli.cli.output import show_json
from skillopt_cli.cli.run_flags import FILES, MEASURING, with_run_flags
from skillopt_cli.compose.eval_plan import write_evaluation
from skillopt_cli.compose.request import run_request
from skillopt_cli.compose.run_folder import new_folder, run_of
from skillopt_cli.compose.seed_skill import read_skill
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.false_accepts import false_accepts
from skillopt_cli.core.formatting import count
from skillopt_cli.core.statistics import interval
from skillopt_cli.engine.session import Session, compare_session
from skillopt_cli.reports.diff.named_skill import skill_path
from skillopt_cli.reports.evaluation import false_accept_words
from skillopt_cli.stages import Run
from skillopt_cli.stages.attempts import rollout_key

_SKILL = "skill"


@with_run_flags(*FILES, *MEASURING)
def aa(
    *,
    skill: SkillArgument,
    benchmark: BenchmarkArgument = None,
    repeats: Annotated[int, typer.Option(min=2, help="Attempts at each task.")] = 3,
    run_id: RunId = None,
    json: JsonOption = False,
    overrides: Overrides,
) -> None:
    """Measure how often the gate accepts a skill against itself.

    Every selection task is attempted --repeats times with the same text. Attempts that the run of
    the skill already holds are not made again. The false-accept rate is that of a candidate whose
    edit has no effect.
    """
    path = skill_path(skill, overrides.out_root)
    home = run_of(path)
    overrides = overrides.measuring(home, "skillopt aa FILE searchqa")
    # What it has measured is gone on with, even under other settings.
    request = run_request(replace(overrides, run_folder=home), read_environment())
    note_unused_settings(home, overrides, request.config)
    if home and not request.config.run.cache_dir:
        shared = request.config.run.model_copy(update={"cache_dir": str(home)})
        request = replace(request, config=request.config.model_copy(update={"run": shared}))
    request = replace(request, measured="selection", skill=read_skill(path), skill_from=skill)

    async def work(session: Session) -> dict[str, Any]:
        await _announce(session, repeats)
        return await _measured(session, repeats)

    now = datetime.now().astimezone()
    with new_folder(request.config, run_id, now) as folder:
        result, _ = execute(folder, request, work, as_json=False)
        result = {"skill": skill, **result}
        write_evaluation(folder, result)
    if json:
        show_json(result)
        return
    typer.echo(false_accept_words(result))
    typer.echo(f"details: {folder}")


async def _announce(session: Session, repeats: int) -> None:
    """Print on stderr what the measurement takes."""
    run, tasks = session.run, session.run.splits["selection"]
    left = sum([await _lacking(run, session, draw) for draw in range(repeats)])
    typer.echo(
        f"Plan: {count(len(tasks), 'selection task')}, {repeats} attempts each;"
        f" {count(left, 'attempt')} to make, {len(tasks) * repeats - left:,} in the journal",
        err=True,
    )


async def _lacking(run: Run, session: Session, draw: int) -> int:
    keys = [(rollout_key(run, session.seed.sent, t, draw), t) for t in run.splits["selection"]]
    for key, _ in keys:
        await run.store.fetch("rollout", key)
    return sum(run.store.recall(key, task) is None for key, task in keys)


async def _measured(session: Session, repeats: int) -> dict[str, Any]:
    run = session.run
    measured = await compare_session(session, {_SKILL: session.seed}, "selection", repeats)
    draws = measured[_SKILL].draws
    found = false_accepts(draws, run.rule)
    return {
        "benchmark": run.benchmark.name,
        "target": session.started.target,
        "data": run.benchmark.source,
        "split": "selection",
        "n_items": len(draws),
        "repeats": repeats,
        "metric": run.metric.name,
        "gate_policy": run.rule.policy,
        "comparisons": found.comparisons,
        "accepted": found.accepted,
        "false_accept_rate": found.rate,
        "simulation_interval": interval(found.rate, found.comparisons),
        "varied": list(found.varied),
    }
