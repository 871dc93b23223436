"""Compare: the same train tasks under the last epoch's skill and under this one's."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from skillopt_cli.core.epoch_pairs import Pair, counts, paired
from skillopt_cli.core.events import EpochCompared
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Task
from skillopt_cli.stages.attempts import Job, Purpose, attempt_jobs
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
    """The tasks under both skills, together at most `run.workers` at a time."""
    folders = [f"slow_update/epoch_{epoch:02d}/rollout_{arm}" for arm in ("prev", "curr")]
    arms = [
        [Job(text.sent, task, Purpose("slow_update", folder)) for task in tasks]
        for text, folder in zip((before, after), folders, strict=True)
    ]
    seen: dict[tuple[str, str], Trajectory] = {}

    def take(job: Job, trajectory: Trajectory) -> None:
        seen[job.purpose.folder, job.task.id] = trajectory

    # One after the other where both are one text: the second finds the attempts of the first.
    parts = arms if before.sent == after.sent else [[*arms[0], *arms[1]]]
    with announced(run, "slow_update", 2 * len(tasks)):
        for jobs in parts:
            await attempt_jobs(run, jobs, take)
    old, new = ([seen[folder, task.id] for task in tasks] for folder in folders)
    return paired(old, new)


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
