"""Compare: the same train tasks under the last epoch's skill and under this one's."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence

from skillopt_cli.core.events import EpochCompared
from skillopt_cli.core.pairs import Pair, counts, paired
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Task
from skillopt_cli.stages.attempts import Purpose, attempt_each, first_cause
from skillopt_cli.stages.run import Comparison, Run, announced


async def compare(run: Run, state: TrainState, before: SkillDocument, epoch: int) -> Comparison:
    """Attempt a sample of the train split under both skills.

    The sample is `optimizer.slow_update_samples` tasks; where the pair policy leaves pairs out, the
    split is scanned on until there are that many or it ends.
    """
    settings = run.config.optimizer
    tasks = list(run.splits["train"])
    random.Random(run.plan.seed + 2000 * epoch).shuffle(tasks)
    wanted, policy = settings.slow_update_samples, settings.longitudinal_pair_policy
    pairs: list[Pair] = []
    shown: list[Pair] = []
    tried = 0
    for size in waves(len(tasks), wanted):
        if len(shown) >= wanted:
            break
        wave = tasks[tried : tried + size]
        tried += size
        pairs += await _both(run, before, state.current.skill, wave, epoch)
        shown = [pair for pair in pairs if pair.fits(policy)][:wanted]
    folder = f"slow_update/epoch_{epoch:02d}"
    run.keep(f"{folder}/comparison_pairs.json", _document(shown))
    if len(shown) < len(pairs):
        run.keep(f"{folder}/comparison_pairs_all.json", _document(pairs))
    broken = tried - len(pairs)
    run.emit(EpochCompared(run.number, epoch, counts(pairs), len(shown), broken))
    return Comparison(epoch, before, state.current.skill, tuple(shown), state.lessons)


def waves(tasks: int, wanted: int) -> list[int]:
    """How many tasks are tried at a time, until enough pairs are found or no task is left."""
    return [min(wanted, tasks - start) for start in range(0, tasks, wanted)]


async def _both(
    run: Run, before: SkillDocument, after: SkillDocument, tasks: Sequence[Task], epoch: int
) -> tuple[Pair, ...]:
    earlier, later = (f"epoch_{epoch:02d}/rollout_{arm}" for arm in ("prev", "curr"))
    with announced(run, "slow_update", 2 * len(tasks)):
        if before.sent == after.sent:
            # One after the other: the second arm finds the attempts of the first in the journal.
            same = await _arm(run, before, tasks, earlier)
            return paired(same, await _arm(run, after, tasks, later))
        try:
            async with asyncio.TaskGroup() as group:
                old = group.create_task(_arm(run, before, tasks, earlier))
                new = group.create_task(_arm(run, after, tasks, later))
        except ExceptionGroup as failures:
            raise first_cause(failures) from failures
    return paired(old.result(), new.result())


async def _arm(
    run: Run, skill: SkillDocument, tasks: Sequence[Task], folder: str
) -> list[Trajectory]:
    done: dict[str, Trajectory] = {}

    def take(trajectory: Trajectory) -> bool:
        done[trajectory.task.id] = trajectory
        return True

    await attempt_each(run, skill, tasks, Purpose("slow_update", f"slow_update/{folder}"), take)
    return [done[task.id] for task in tasks]


def _document(pairs: Sequence[Pair]) -> str:
    rows = [
        {
            "id": pair.before.task.id,
            "category": pair.category,
            "prev": _side(pair.before),
            "curr": _side(pair.after),
        }
        for pair in pairs
    ]
    return json.dumps(rows, ensure_ascii=False, indent=2) + "\n"


def _side(trajectory: Trajectory) -> dict[str, object]:
    score = trajectory.score
    return {
        "hard": score.hard if score else None,
        "soft": score.soft if score else None,
        "predicted_answer": trajectory.attempt.answer,
        "fail_reason": score.feedback if score and trajectory.failed else "",
    }
