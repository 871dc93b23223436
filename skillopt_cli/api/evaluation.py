"""Measuring a skill from Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from skillopt_cli.api.arguments import checked, known_split
from skillopt_cli.api.arms import NONE, arm_names, read_arms
from skillopt_cli.api.calls import Observer, blocking, execute, overrides
from skillopt_cli.api.planned import measure_plan
from skillopt_cli.api.result import RunResult, load_run
from skillopt_cli.compose.benchmark import open_benchmark
from skillopt_cli.compose.eval_plan import EvalPlan, write_evaluation, write_plan
from skillopt_cli.compose.request import run_request
from skillopt_cli.compose.run_folder import new_folder, run_of
from skillopt_cli.compose.seed_skill import read_skill
from skillopt_cli.compose.training_tasks import TrainingTasks, trained_in, training_tasks
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.score import Measured
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import TaskSet
from skillopt_cli.engine.session import Session, evaluate_session
from skillopt_cli.engine.verdict import against_majority
from skillopt_cli.reports.arms import training_warning
from skillopt_cli.reports.diff.named_skill import skill_path
from skillopt_cli.runlog.text.verdict import majority_entry

Arms = str | Sequence[str] | Mapping[str, str | Path | None]


@checked
async def evaluate_async(
    skill: str | Path | None = None,
    benchmark: str | None = None,
    *,
    split: str = "test",
    arms: Arms | None = None,
    repeats: int = 1,
    lint: bool = False,
    config: str | Path | None = None,
    preset: str = "",
    settings: Mapping[str, object] | None = None,
    run_id: str | None = None,
    trust: bool = False,
    on_event: Observer | None = None,
    **flags: object,
) -> RunResult:
    """Measure one skill on one split, or several in one pass, as `skillopt eval` does.

    Args:
        skill: a file, a skill folder, a run folder (its best skill), `RUN:best`, `RUN:seed` or
            `RUN:3`; None for no skill.
        benchmark: its name; None takes benchmark and settings from `config`, else from the run
            folder that holds the skill.
        split: train, selection, test, or all three together as `all`.
        arms: skills to compare: a list as `--arms` takes it, or skills by name, with None for no
            skill. `seed`, `best` and step numbers are those of the run of `skill`.
        repeats: attempts at each task.
        lint: report tasks that show nothing, or that leak.
        config, preset, settings, run_id, trust, on_event, flags: as of `train`.

    Raises:
        UsageError: there is no such skill or split, or an argument cannot be used.
        Indecisive: too few attempts could be scored for the number to mean anything.
        SkillOptError: as `train` does.
    """
    made = replace(overrides(benchmark, config, preset, settings, flags), trust=trust)
    chosen = known_split(split)
    if repeats < 1:
        raise UsageError(f"`repeats` is {repeats}", "a task is attempted once or more")
    path = skill_path(str(skill), made.out_root) if skill is not None else None
    several = arms is not None or repeats > 1 or lint
    names = arm_names(_listed(arms), path, made.out_root) if several else None
    home = names.home if names else run_of(path) if path else None
    request = run_request(made.measuring(home, EXAMPLE), read_environment())
    opened = open_benchmark(request.config)
    request = replace(request, benchmark=opened)
    runs = names.trained_in if names else (trained_in(path),)
    used = training_tasks(request.config, opened, chosen, runs)
    plan = None
    if names is not None:
        read = read_arms(names, request.config, opened)
        plan = EvalPlan(read, chosen, repeats, lint=lint, used=used)
    else:
        document = read_skill(path) if path else SkillDocument("")
        named = str(path) if path else ""
        request = replace(request, measured=chosen, skill=document, skill_from=named)

    async def measure(session: Session) -> dict[str, Any]:
        measured = await evaluate_session(session, chosen)
        return await evaluation_document(session, measured, chosen, str(skill or ""), used)

    now = datetime.now().astimezone()
    with new_folder(request.config, run_id, now) as folder:
        if plan is not None:
            write_plan(folder, plan)
            await measure_plan(folder, request, plan, on_event)
        else:
            write_evaluation(folder, await execute(folder, request, measure, on_event))
    return load_run(folder)


evaluate = blocking(evaluate_async)
EXAMPLE = "skillopt eval searchqa --skill FILE"


def _listed(arms: Arms | None) -> Sequence[str] | None:
    if arms is None or isinstance(arms, str):
        return arms.split(",") if arms is not None else None
    if not isinstance(arms, Mapping):
        return arms
    return [f"{name}={NONE if value is None else value}" for name, value in arms.items()]


async def evaluation_document(
    session: Session,
    measured: Measured,
    split: TaskSet,
    skill: str,
    used: TrainingTasks | None = None,
) -> dict[str, Any]:
    """The content of `eval_summary.json`: scores on the split, by kind, and of one answer to all.

    Args:
        skill: its name, as the user gave it.
        used: tasks among the measured ones that a training of the skill used.
    """
    kinds: dict[str, dict[str, Any]] = defaultdict(dict)
    for task in session.run.tasks(split):
        kinds[task.kind][task.id] = measured.marks[task.id]
    constant = (await against_majority(session.run, split, {skill: measured.marks})).get(skill)
    named = "the skill" if skill else "no skill"
    return {
        "skill": skill,
        "skill_digest": measured.skill.digest,
        "benchmark": session.run.benchmark.name,
        "target": session.started.target,
        **({"judge": session.started.judge} if session.started.judge else {}),
        "data": session.started.data,
        "split": split,
        "n_items": measured.n,
        "scored": measured.scored,
        "coverage": measured.coverage,
        "hard": measured.hard,
        "soft": measured.soft,
        "task_types": {
            kind: {"total": part.n, "scored": part.scored, "hard": part.hard, "soft": part.soft}
            for kind, marks in sorted(kinds.items())
            if (part := Measured(measured.skill, marks))
        },
        **({"majority_baseline": majority_entry(constant, split, named)} if constant else {}),
        **training_warning(used),
    }
