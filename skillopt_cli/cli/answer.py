"""`skillopt answer`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.evaluate import skill_file, with_skill
from skillopt_cli.cli.execute import execute, note_unused_settings
from skillopt_cli.cli.options import OutOption, RunId, SkillOption
from skillopt_cli.cli.output import put
from skillopt_cli.cli.run_flags import FILES, MEASURING, with_run_flags
from skillopt_cli.compose.benchmark import open_benchmark
from skillopt_cli.compose.own_tasks import TASKS
from skillopt_cli.compose.request import RunRequest, run_request
from skillopt_cli.compose.run_folder import new_folder, run_of
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.layers import Layer, Strength
from skillopt_cli.config.section import in_home
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.formatting import count
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.task import SPLITS, Attempt
from skillopt_cli.engine.session import Session, answer_session
from skillopt_cli.plugins import OWN_TASKS
from skillopt_cli.ports import Benchmark
from skillopt_cli.reports.export.answers import export_of_answers
from skillopt_cli.reports.export.table import as_csv
from skillopt_cli.store.atomic_files import check_vacant

EXAMPLE = "skillopt answer new.csv --skill RUN:best"


@with_run_flags(*FILES, *MEASURING)
def answer(
    *,
    benchmark: Annotated[
        str, typer.Argument(metavar="TASKS", help="File of own tasks; they need no answers.")
    ],
    skill: SkillOption = None,
    out: OutOption = None,
    run_id: RunId = None,
    overrides: Overrides,
) -> None:
    """Answer new tasks with a skill; nothing is scored.

    Writes CSV with a row for each task. Settings come from the run folder that holds the skill,
    unless --config is given.
    """
    tasks = _tasks_file(benchmark, overrides)
    if out is not None:
        check_vacant(out)
    scratch = bool(overrides.flags.get("env.from_scratch"))
    path = skill_file(skill, overrides.out_root, scratch, needed=True)
    home = run_of(path) if path else None
    overrides = _unscored(replace(overrides, benchmark=""), tasks, home)
    request = run_request(overrides, read_environment())
    if request.config.env.name != OWN_TASKS:
        raise UsageError(
            f"the benchmark `{request.config.env.name}` reads no tasks without answers",
            f"`skillopt answer` takes own tasks, such as `{EXAMPLE}`",
        )
    note_unused_settings(home, overrides, request.config)
    opened = open_benchmark(request.config, scored=False)
    request = replace(with_skill(request, path), measured="all", benchmark=opened)
    with new_folder(request.config, run_id, datetime.now().astimezone(), training=False) as folder:
        _answer(folder, request, opened, out)


def _tasks_file(argument: str, overrides: Overrides) -> Path:
    """The file that the argument names.

    Raises:
        UsageError: it is none, or a flag names other tasks.
    """
    if not overrides.flags.keys().isdisjoint(TASKS):
        raise UsageError("the tasks are named twice", f"name them once: `{EXAMPLE}`")
    path = Path(in_home(argument)).absolute()
    if not path.is_file():
        raise UsageError(f"{path} is no task file", f"for example `{EXAMPLE}`")
    return path


def _unscored(overrides: Overrides, tasks: Path, home: Path | None) -> Overrides:
    """The overrides with these tasks, all of them, which need no answers.

    Args:
        home: the run that the skill is of; its settings are in force, unless others are named.
    """
    found = overrides.measuring(home, EXAMPLE)
    env = {"data_path": str(tasks), "split_dir": "", "limit": 0}
    layer = Layer("argument TASKS", {"env": env}, Strength.FLAG)
    # A file names the benchmark, a path alone leaves the columns to be inferred.
    benchmark = "" if found.config else str(tasks)
    return replace(found, benchmark=benchmark, layers=[*found.layers, layer], scored=False)


def _answer(folder: Path, request: RunRequest, opened: Benchmark, out: Path | None) -> None:
    """Make the attempts and write what they gave, also where the run ends before its time."""
    everything = [task for split in SPLITS for task in opened.tasks(split)]
    prompts = {task.id: opened.brief(task).prompt for task in everything}
    made: dict[str, Attempt] = {}

    def take(trajectory: Trajectory) -> None:
        made[trajectory.task.id] = trajectory.attempt

    async def work(session: Session) -> None:
        await answer_session(session, take)

    try:
        execute(folder, request, work, as_json=False)
    finally:
        if made:
            put(out, as_csv(export_of_answers(prompts, made)))
    given = sum(attempt.ending == "answered" for attempt in made.values())
    typer.echo(f"answered {given} of {count(len(prompts), 'task')}; details: {folder}", err=True)
