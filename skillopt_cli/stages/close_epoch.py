"""What an epoch's end does, in order."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.core.errors import OptimizerUnusable
from skillopt_cli.core.formatting import count
from skillopt_cli.core.plan import StepPlan
from skillopt_cli.core.state import TrainState, optimizer_was_silent
from skillopt_cli.stages.compare import compare
from skillopt_cli.stages.meta_skill import begin_memory, write_memory
from skillopt_cli.stages.run import Run
from skillopt_cli.stages.slow_update import first_epoch, slow_update


async def close_epoch(run: Run, state: TrainState, step: StepPlan) -> TrainState:
    """Check that the optimizer was of use at all, update slowly, remember, forget the lessons.

    The first epoch has no earlier one to be compared with.

    Raises:
        OptimizerUnusable: analysts were asked, and none of the epoch gave a usable answer.
    """
    # Without a question in this process or step, a repaired optimizer had no chance to answer.
    if optimizer_was_silent(state.lessons) and (run.unanswered or state.lessons[-1].asked):
        # The step will be repeated, and must not find the same replies again.
        for key in (key for key, number in run.unanswered.items() if number == step.number):
            run.store.forget_call(key)
        asked = sum(lesson.asked for lesson in state.lessons)
        name = run.optimizer.name if run.optimizer else "the optimizer"
        raise OptimizerUnusable(
            f"{name} gave no usable answer to {count(asked, 'request')} in this epoch",
            "see parse_errors/ in the run's steps; a resume asks again, another model with"
            " `model.optimizer.name=NAME` and `--allow-drift`",
        )
    settings, run = run.config.optimizer, run.closing(step, state.memory)
    if state.epoch_skill is None:
        if settings.use_slow_update:
            first_epoch(run, state, step)
        return state.after_epoch()
    if settings.use_slow_update or settings.use_meta_skill:
        comparison = await compare(run, state, state.epoch_skill, step.epoch)
        if settings.use_meta_skill:
            begin_memory(run, comparison)
        if settings.use_slow_update:
            state = await slow_update(run, state, step, comparison)
        if settings.use_meta_skill:
            state = replace(state, memory=await write_memory(run, comparison))
    return state.after_epoch()
