"""`trajectory_digest.json`: the attempts of a step as the optimizer saw them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.state import Reflection
from skillopt_cli.stages.prompt_text import trajectory_text
from skillopt_cli.stages.reflect import minibatches
from skillopt_cli.stages.run import Run


def keep_digest(run: Run, trajectories: Sequence[Trajectory], reflection: Reflection) -> None:
    """Write the digest: one entry per attempt, and the failure patterns the analysts named."""
    named = Counter(p for patch in reflection.patches for p in dict.fromkeys(patch.patterns))
    shown = {t.task.id for batch in minibatches(run, trajectories) for t in batch.trajectories}
    document = {
        "step": run.number,
        "n_total": sum(t.score is not None for t in trajectories),
        "n_fail": sum(t.failed for t in trajectories),
        "failure_patterns": [{"pattern": name, "count": n} for name, n in named.items()],
        "attempts": [
            _entry(run, number, t, shown=t.task.id in shown)
            for number, t in enumerate(trajectories, 1)
        ],
    }
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    run.keep("trajectory_digest.json", text)


def _entry(run: Run, number: int, trajectory: Trajectory, *, shown: bool) -> dict[str, Any]:
    """An attempt; its text is what an analyst reads of it, None where it was not shown to one."""
    score = trajectory.score
    return {
        "id": trajectory.task.id,
        "task_type": trajectory.task.kind,
        "hard": None if score is None else score.hard,
        "soft": None if score is None else score.soft,
        "ending": trajectory.attempt.ending,
        "shown": shown,
        "text": trajectory_text(run.benchmark, trajectory, number) if shown else None,
    }
