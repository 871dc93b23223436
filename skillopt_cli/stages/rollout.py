"""Rollout: the target attempts the step's train tasks with the current skill."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skillopt_cli.core.events import BatchScored
from skillopt_cli.core.score import HARD, SOFT, Measured, Trajectory, mark
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Task
from skillopt_cli.stages.attempts import Purpose, attempt_each
from skillopt_cli.stages.run import Run, announced


async def rollout(
    run: Run,
    skill: SkillDocument,
    tasks: Sequence[Task],
    draw: int,
    read: Callable[[Trajectory], None] | None = None,
) -> list[Trajectory]:
    """Trajectories in the order of `tasks`, whatever order they finished in.

    Args:
        read: is called with each trajectory, in order, once those before it are there.
    """
    done: dict[str, Trajectory] = {}
    first: list[Trajectory] = []

    def take(trajectory: Trajectory) -> bool:
        done[trajectory.task.id] = trajectory
        while len(first) < len(tasks) and tasks[len(first)].id in done:
            first.append(done[tasks[len(first)].id])
            if read is not None:
                read(first[-1])
        return True

    with announced(run, "rollout", len(tasks)):
        await attempt_each(run, skill, tasks, Purpose("rollout", "rollout", draw=draw), take)
    scored = Measured(skill, {t.task.id: mark(t.score) for t in first})
    run.emit(
        BatchScored(
            step=run.number,
            hard=scored.mean(HARD),
            soft=scored.mean(SOFT),
            failures=sum(t.failed for t in first),
            scored=scored.scored,
            n=scored.n,
        )
    )
    return first
