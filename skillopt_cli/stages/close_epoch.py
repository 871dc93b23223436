"""What an epoch's end does, in order."""

from __future__ import annotations

from skillopt_cli.core.errors import OptimizerUnusable
from skillopt_cli.core.state import TrainState, optimizer_was_silent
from skillopt_cli.stages.run import Run


async def close_epoch(run: Run, state: TrainState) -> TrainState:
    """Check that the optimizer was of use at all, then forget the step lessons.

    Raises:
        OptimizerUnusable: analysts were asked, and none of the epoch gave a usable answer.
    """
    if optimizer_was_silent(state.lessons):
        asked = sum(lesson.asked for lesson in state.lessons)
        name = run.optimizer.name if run.optimizer else "the optimizer"
        raise OptimizerUnusable(
            f"{name} gave no usable answer to {asked} requests in this epoch",
            "see parse_errors/ in the run's steps, and try another --optimizer-model",
        )
    return state.after_epoch()
