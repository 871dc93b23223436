"""`skillopt answer`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.api.answering import answer_plan, answer_request, unscored
from skillopt_cli.api.planned import answered, planned
from skillopt_cli.benchmarks.kit.splits import shown_path
from skillopt_cli.cli.evaluate import skill_file
from skillopt_cli.cli.execute import execute, note_unused_settings, warn_of_long_skills
from skillopt_cli.cli.options import ForceOption, OutOption, RunId, SkillOption
from skillopt_cli.cli.output import put, show_json
from skillopt_cli.cli.run_flags import FILES, MEASURING, SCORED, with_run_flags
from skillopt_cli.compose.eval_plan import EvalPlan, write_plan
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.run_folder import new_folder, run_of
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.core.formatting import count
from skillopt_cli.reports.export.answers import AnswerRow, csv_of_answers
from skillopt_cli.store.atomic_files import check_replaceable


@with_run_flags(*FILES, *(group for group in MEASURING if group != SCORED))
def answer(
    *,
    benchmark: Annotated[
        str, typer.Argument(metavar="TASKS", help="File of own tasks; they need no answers.")
    ],
    skill: SkillOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    run_id: RunId = None,
    overrides: Overrides,
) -> None:
    """Answer new tasks with a skill; nothing is scored.

    Writes CSV with a row for each task. Settings come from the run folder that holds the skill,
    unless --config is given. `skillopt resume` takes up what was stopped, and pays for no attempt
    twice.
    """
    scratch = bool(overrides.flags.get("env.from_scratch"))
    path = skill_file(skill, overrides.out_root, scratch, needed=True)
    if out is not None:
        check_replaceable(out, force=force)
    plan = answer_plan(skill or "", path, out)
    home = run_of(path) if path else None
    overrides = unscored(overrides, benchmark, home)
    request = answer_request(overrides)
    note_unused_settings(home, overrides, request.config)
    with new_folder(request.config, run_id, datetime.now().astimezone()) as folder:
        write_plan(folder, plan)
        run_answer(folder, request, plan, json=False)


def run_answer(folder: Path, request: RunRequest, plan: EvalPlan, *, json: bool) -> None:
    """Answer the tasks in a run folder and show the table, also where the run ends early."""
    (arm,) = plan.arms
    warn_of_long_skills(request, {f"the skill {arm.given}": arm.skill})
    rows: list[AnswerRow] = []
    work = partial(answered, plan=plan, rows=rows)
    try:
        execute(folder, planned(request, plan), work, as_json=False)
    finally:
        if rows:
            show_answers(rows, plan, json=json)
    given = sum(row["answer"] is not None for row in rows)
    typer.echo(f"answered {given} of {count(len(rows), 'task')}; details: {folder}", err=True)


def show_answers(rows: Sequence[AnswerRow], plan: EvalPlan, *, json: bool) -> None:
    """Print the table of answers, or the name of the file that holds it."""
    if plan.out:
        typer.echo(f"wrote {shown_path(Path(plan.out))}", err=True)
    if json:
        show_json({"answers": rows})
    elif not plan.out:
        put(None, csv_of_answers(rows))
