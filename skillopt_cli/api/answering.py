"""Answering new tasks with a skill from Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from skillopt_cli.api.arguments import checked
from skillopt_cli.api.calls import Observer, blocking, overrides
from skillopt_cli.api.planned import measure_plan
from skillopt_cli.api.result import RunResult, load_run
from skillopt_cli.compose.benchmark import open_benchmark
from skillopt_cli.compose.eval_plan import Arm, EvalPlan, write_plan
from skillopt_cli.compose.own_tasks import TASKS
from skillopt_cli.compose.request import RunRequest, run_request
from skillopt_cli.compose.run_folder import new_folder, run_of
from skillopt_cli.compose.seed_skill import read_skill
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.layers import Layer, Strength, assignment_layers, flatten
from skillopt_cli.config.section import in_home
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.plugins import OWN_TASKS
from skillopt_cli.reports.diff.named_skill import skill_path
from skillopt_cli.store.atomic_files import check_vacant

EXAMPLE = "skillopt answer new.csv --skill RUN:best"


@checked
async def answer_async(
    tasks: str | Path,
    skill: str | Path | None = None,
    *,
    out: str | Path | None = None,
    config: str | Path | None = None,
    preset: str = "",
    settings: Mapping[str, object] | None = None,
    run_id: str | None = None,
    trust: bool = False,
    on_event: Observer | None = None,
    **flags: object,
) -> RunResult:
    """Answer new tasks with a skill and return the result, as `skillopt answer` does.

    Its `answers()` has a row for each task. Nothing is scored.

    Args:
        tasks: a file of own tasks, which need no answers.
        skill: as of `evaluate`. Settings are those of its run, unless `config` is given.
        out: where the rows are written as CSV too; None for the run folder alone.
        config, preset, settings, run_id, trust, on_event, flags: as of `train`.

    Raises:
        UsageError: there is no such file or skill, the tasks are named twice, or `out` exists.
        Indecisive: as many attempts are broken as would make a measurement mean nothing.
        SkillOptError: as `train` does. The rows so far are written all the same.
    """
    made = replace(overrides(None, config, preset, settings, flags), trust=trust)
    path = skill_path(str(skill), made.out_root) if skill is not None else None
    table = Path(out) if out is not None else None
    if table is not None:
        check_vacant(table)
    plan = answer_plan(str(skill or ""), path, table)
    request = answer_request(unscored(made, str(tasks), run_of(path) if path else None))
    with new_folder(request.config, run_id, datetime.now().astimezone()) as folder:
        write_plan(folder, plan)
        await measure_plan(folder, request, plan, on_event)
    return load_run(folder)


answer = blocking(answer_async)


def answer_plan(given: str, path: Path | None, out: Path | None) -> EvalPlan:
    """The plan of answering every task once.

    Args:
        given: the skill, as the user named it; its file or folder is `path`, None for no skill.
        out: where the table of answers goes beside the run folder.

    Raises:
        UsageError, DataError: the skill cannot be read.
    """
    skill = read_skill(path) if path else SkillDocument("")
    where = str(out.absolute()) if out is not None else ""
    return EvalPlan((Arm("skill", given, skill),), "all", scored=False, out=where)


def unscored(overrides: Overrides, tasks: str, home: Path | None) -> Overrides:
    """The overrides with this file of tasks, all of them, which need no answers.

    Args:
        home: the run that the skill is of; its settings are in force, unless others are named.

    Raises:
        UsageError: there is no such file, or a setting names other tasks.
    """
    assigned = assignment_layers(overrides.assignments)
    given = {key for layer in assigned for key, _ in flatten(layer.values)}
    if not given.union(overrides.flags).isdisjoint(TASKS):
        raise UsageError("the tasks are named twice", f"name them once: `{EXAMPLE}`")
    path = Path(in_home(tasks)).absolute()
    if not path.is_file():
        fault = "is no task file" if path.exists() else "does not exist"
        raise UsageError(f"{path} {fault}", f"name a task file, for example `{EXAMPLE}`")
    found = replace(overrides, benchmark="").measuring(home, EXAMPLE)
    # The mode, so that the file is read where the run of the skill had a folder of splits.
    env = {"data_path": str(path), "split_mode": "ratio", "limit": 0}
    layer = Layer("argument TASKS", {"env": env}, Strength.FLAG)
    # A file names the benchmark, a path alone leaves the columns to be inferred.
    benchmark = "" if found.config else str(path)
    return replace(found, benchmark=benchmark, layers=[*found.layers, layer], scored=False)


def answer_request(overrides: Overrides) -> RunRequest:
    """The request of answering tasks, which are open.

    Args:
        overrides: as `unscored` makes them.

    Raises:
        UsageError: the settings are those of a benchmark that is no file of own tasks.
        SkillOptError: as `run_request` and `open_benchmark` do.
    """
    request = run_request(overrides, read_environment())
    if request.config.env.name != OWN_TASKS:
        raise UsageError(
            f"the benchmark `{request.config.env.name}` reads no tasks without answers",
            f"`skillopt answer` takes own tasks, such as `{EXAMPLE}`",
        )
    return replace(request, benchmark=open_benchmark(request.config, scored=False))
