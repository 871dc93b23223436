"""`skillopt prune`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.api.planned import keep_pruned, planned
from skillopt_cli.api.pruning import EXAMPLE, prune_plan, pruned_path
from skillopt_cli.benchmarks.kit.splits import shown_path
from skillopt_cli.cli.execute import execute, note_unused_settings
from skillopt_cli.cli.options import (
    BenchmarkArgument,
    ForceOption,
    JsonOption,
    RecordOption,
    ReplayOption,
    RunId,
    SkillArgument,
)
from skillopt_cli.cli.output import show_json, show_table
from skillopt_cli.cli.run_flags import FILES, MEASURING, with_run_flags
from skillopt_cli.compose.eval_plan import (
    EvalPlan,
    read_evaluation,
    write_plan,
)
from skillopt_cli.compose.request import RunRequest, run_request
from skillopt_cli.compose.run_folder import new_folder, run_of
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.events import SkillPruned
from skillopt_cli.engine.session import prune_session
from skillopt_cli.reports.diff.named_skill import skill_path
from skillopt_cli.runlog.pruning import (
    TITLES,
    block_row,
    pruned_words,
    unnamed_words,
    whole_paragraph_words,
)
from skillopt_cli.store.atomic_files import check_replaceable, check_replaceable_folder


@with_run_flags(*FILES, *MEASURING)
def prune(
    *,
    skill: SkillArgument,
    benchmark: BenchmarkArgument = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The pruned skill; else NAME.pruned beside it.")
    ] = None,
    force: ForceOption = False,
    run_id: RunId = None,
    record: RecordOption = None,
    replay: ReplayOption = None,
    json: JsonOption = False,
    overrides: Overrides,
) -> None:
    """Remove what a skill does not need.

    Sections, list items and paragraphs are left out one at a time; a removal that does not measure
    worse on the selection split is kept. Front matter and protected regions stay, the latter
    without their markers. Benchmark and settings come from the run folder that holds the skill,
    unless BENCHMARK or --config is given.
    """
    path = skill_path(skill, overrides.out_root)
    target = pruned_path(path, out)
    plan = prune_plan(skill, path, target)
    if plan.arms[0].skill.folder is None:
        check_replaceable(target, force=force)
    else:
        check_replaceable_folder(target, force=force)
    overrides = overrides.measuring(run_of(path), EXAMPLE)
    request = run_request(overrides, read_environment(), record, replay)
    note_unused_settings(run_of(path), overrides, request.config)
    now = datetime.now().astimezone()
    with new_folder(request.config, run_id, now) as folder:
        write_plan(folder, plan)
        run_prune(folder, request, plan, json=json)


def run_prune(folder: Path, request: RunRequest, plan: EvalPlan, *, json: bool) -> None:
    """Prune the skill of a plan in its run folder, and write and show the result."""
    pruned, _ = execute(folder, planned(request, plan), prune_session, as_json=False)
    show_prune(folder, keep_pruned(folder, plan, pruned.skill), plan, json=json)


def show_prune(folder: Path, event: SkillPruned, plan: EvalPlan, *, json: bool) -> None:
    """Print what was pruned."""
    if json:
        show_json(read_evaluation(folder))
        return
    show_table(TITLES, [block_row(block) for block in event.blocks])
    typer.echo(pruned_words(event))
    if words := whole_paragraph_words(event):
        typer.echo(f"hint: {words}")
    for path in read_evaluation(folder).get("files_unnamed", ()):
        typer.echo(f"note: {unnamed_words(path)}")
    typer.echo(f"wrote {shown_path(Path(plan.pruned))}")
    typer.echo(f"details: {folder}")
