"""Measure: the only place where a skill gets a score, together with the text it was measured on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from skillopt_cli.core.events import StageName
from skillopt_cli.core.gate import contest, measuring_order
from skillopt_cli.core.plan import StepPlan
from skillopt_cli.core.score import Mark, Measured, Settled, Trajectory, mark
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import TaskSet
from skillopt_cli.stages.attempts import Purpose, attempt_each
from skillopt_cli.stages.run import Run, announced


async def measure(
    run: Run,
    skill: SkillDocument,
    split: TaskSet,
    label: str = "",
    stage: StageName = "measure",
) -> Measured:
    """Marks of a skill on a whole split.

    Args:
        label: names what is measured once more, or beside others.
    """
    return await _in_full(run, skill, split, Purpose(stage, split, label))


async def measure_seed(
    run: Run, seed: SkillDocument, seen: Callable[[Mapping[str, Mark]], None]
) -> Measured:
    """Marks of the seed skill on the selection split.

    Args:
        seen: hears the marks so far, by task, whenever another one is there.
    """
    return await _in_full(run, seed, "selection", Purpose("measure", "selection"), seen)


async def measure_against(
    run: Run, skill: SkillDocument, incumbent: Measured
) -> Measured | Settled:
    """Marks of a candidate on the selection split, or a prefix of them that settles a reject.

    The incumbent's losses come first. The measurement stops as soon as no outcome of the remaining
    tasks could make the candidate good enough for the run's rule; the verdict is then that of the
    full measurement (method, decision 3).
    """
    if not (run.config.evaluation.early_reject and run.rule.use_gate):
        return await _in_full(run, skill, "selection", Purpose("measure", "selection"))
    by_id = {task.id: task for task in run.splits["selection"]}
    order = measuring_order(incumbent, run.metric)
    standing = contest(incumbent, run.rule)
    known: dict[str, Mark] = {}

    def take(trajectory: Trajectory) -> bool:
        nonlocal standing
        known[trajectory.task.id] = mark(trajectory.score)
        while not standing.settled and standing.done < len(order):
            following = order[standing.done]
            if following not in known:
                break
            standing = standing.after(known[following], incumbent.marks[following])
        return not standing.settled

    if not standing.settled:
        tasks = [by_id[task_id] for task_id in order]
        with announced(run, "measure", len(tasks)):
            await attempt_each(run, skill, tasks, Purpose("measure", "selection"), take)
    if standing.settled and standing.done < len(order):
        prefix = {task_id: known[task_id] for task_id in order[: standing.done]}
        return Settled(skill, prefix, standing.bound, len(order))
    return Measured(skill, {task_id: known[task_id] for task_id in by_id})


async def remeasure(run: Run, state: TrainState, step: StepPlan) -> TrainState:
    """The state with the current skill measured once more and its marks pooled, if the gate asks.

    Under `evaluation.gate_policy: pooled` a lucky measurement does not stay the bar for good.
    """
    if run.rule.policy != "pooled":
        return state
    again = Purpose("measure", "selection_again", "incumbent", step.number)
    fresh = await _in_full(run, state.current.skill, "selection", again)
    pooled = state.current.pooled(fresh)
    best = pooled if state.best.skill == pooled.skill else state.best
    return replace(state, current=pooled, best=best)


def begin_tests(run: Run, arms: Mapping[str, SkillDocument]) -> None:
    """Let the tests begin that `measure_test` will ask for."""
    if not run.capped:
        for label, skill in arms.items():
            run.begin(f"test {label}", _test(skill, label))


async def measure_test(run: Run, skill: SkillDocument, label: str) -> Measured:
    """Marks of a skill on the test split; `label` names the arm (seed, best, final, no_skill)."""
    return await run.finish(f"test {label}", _test(skill, label))


def _test(skill: SkillDocument, label: str) -> Callable[[Run], Awaitable[Measured]]:
    purpose = Purpose("test", f"test/{label}", label)
    return lambda run: _in_full(run, skill, "test", purpose)


async def _in_full(
    run: Run,
    skill: SkillDocument,
    split: TaskSet,
    purpose: Purpose,
    seen: Callable[[Mapping[str, Mark]], None] | None = None,
) -> Measured:
    tasks = run.tasks(split)
    marks: dict[str, Mark] = {}

    def take(trajectory: Trajectory) -> bool:
        marks[trajectory.task.id] = mark(trajectory.score)
        if seen is not None:
            seen(marks)
        return True

    with announced(run, purpose.stage, len(tasks), purpose.label):
        await attempt_each(run, skill, tasks, purpose, take)
    return Measured(skill, {task.id: marks[task.id] for task in tasks})
