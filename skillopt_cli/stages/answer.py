"""Answer: attempt every task once for its answer alone; nothing is scored."""

from __future__ import annotations

from collections.abc import Callable

from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.attempts import Purpose, attempt_each
from skillopt_cli.stages.run import Run, announced


async def answer(run: Run, skill: SkillDocument, take: Callable[[Trajectory], None]) -> None:
    """Attempt each task of the benchmark; `take` hears each attempt when it ends."""

    def heard(trajectory: Trajectory) -> bool:
        take(trajectory)
        return True

    tasks = run.tasks("all")
    with announced(run, "answer", len(tasks)):
        await attempt_each(run, skill, tasks, Purpose("answer", "answers"), heard)
