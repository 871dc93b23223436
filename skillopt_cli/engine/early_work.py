"""Work of the loop that begins before its turn, once the run is sure to do it; see `Overlap`.

What lies beyond the next checkpoint begins early only where no cap may end the run before it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from skillopt_cli.core.plan import StepPlan
from skillopt_cli.core.score import FULL, Mark, Measured, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.engine.caps import lasting_arms
from skillopt_cli.stages import Run, begin_tests, early_reader, rollout


def rollout_of(state: TrainState, step: StepPlan) -> Callable[[Run], Awaitable[list[Trajectory]]]:
    """The rollout of a step, beside which reflection begins."""
    skill, lessons = state.current.skill, state.lessons

    async def work(run: Run) -> list[Trajectory]:
        read = early_reader(run.in_round(1, state.refuted), skill, lessons)
        return await rollout(run, skill, run.batch(step, state.solved), step.seed, read)

    return work


def begin_first_rollout(run: Run, seed: SkillDocument, marks: Mapping[str, Mark]) -> None:
    """Let the first rollout begin as soon as training is sure to have something to gain.

    Args:
        marks: of the seed, as far as its baseline is known.
    """
    step = next(run.plan.after(0))
    name = f"rollout {step.number}"
    if run.overlap is None or run.capped or run.overlap.has_begun(name):
        return
    hoped = dict.fromkeys((task.id for task in run.splits["selection"]), FULL)
    known = Measured(seed, {**hoped, **marks})
    state = TrainState(known, known)
    if run.nothing_to_gain(state) is None:
        run.at(step).begin(name, rollout_of(state, step))


def begin_last_epoch(run: Run, seed: SkillDocument, step: StepPlan) -> None:
    """Let the tests that do not depend on training begin with the last epoch.

    Not before: who looks at the first steps and gives a run up has not paid for its test.
    """
    if step.epoch == run.plan.epochs:
        begin_tests(run, lasting_arms(run, seed))
