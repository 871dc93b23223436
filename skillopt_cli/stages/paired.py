"""Paired measurement: several skills on the same tasks in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from skillopt_cli.core.events import StageName
from skillopt_cli.core.repeats import Repeated
from skillopt_cli.core.score import BROKEN, Mark, Trajectory, mark
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import TaskSet
from skillopt_cli.stages.attempts import Job, Purpose, attempt_jobs
from skillopt_cli.stages.run import Run, announced


async def measure_paired(
    run: Run, arms: Mapping[str, SkillDocument], split: TaskSet, repeats: int = 1
) -> dict[str, Repeated]:
    """Marks of each arm on a split, with `repeats` draws of each task.

    The attempts of all arms at a task follow one another, so that a service that changes during
    the measurement changes for all arms alike. Arms that read the same to the target are measured
    once.
    """
    tasks = run.tasks(split)
    alike: dict[str, str] = {}
    for name, skill in arms.items():
        alike.setdefault(skill.sent.digest, name)
    measured = {name: arms[name].sent for name in alike.values()}
    marks: dict[str, dict[str, list[Mark]]] = {
        name: {task.id: [BROKEN] * repeats for task in tasks} for name in measured
    }
    jobs = [
        Job(skill, task, _purpose(split, name, draw))
        for draw in range(repeats)
        for task in tasks
        for name, skill in measured.items()
    ]

    def take(job: Job, trajectory: Trajectory) -> bool:
        place = marks[job.purpose.label][job.task.id]
        place[job.purpose.draw] = mark(trajectory.score)
        return True

    with ExitStack() as stages:
        for name in measured:
            stages.enter_context(announced(run, _stage(split), len(tasks) * repeats, name))
        await attempt_jobs(run, jobs, take)
    return {
        name: Repeated(
            skill, {t: tuple(found) for t, found in marks[alike[skill.sent.digest]].items()}
        )
        for name, skill in arms.items()
    }


def _stage(split: TaskSet) -> StageName:
    return "test" if split == "test" else "measure"


def _purpose(split: TaskSet, name: str, draw: int) -> Purpose:
    """What an arm's attempts are made for; the first draw is that of every other measurement."""
    folder = f"{split}/{name}" + (f"/draw_{draw + 1}" if draw else "")
    return Purpose(_stage(split), folder, name, draw)
