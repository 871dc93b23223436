"""The training loop: what happens, in order, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.core.events import GateDecided, StoppedEarly
from skillopt_cli.core.gate import gate
from skillopt_cli.core.plan import StepPlan
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState, lesson_from, stop_reason
from skillopt_cli.engine.evaluate import drifted, measure_baseline, measured_again
from skillopt_cli.engine.facts import step_skipped, step_started
from skillopt_cli.stages import (
    Run,
    aggregate,
    close_epoch,
    learning_rate,
    measure_against,
    reflect,
    rollout,
    select,
    update,
)


async def train(run: Run, seed: SkillDocument) -> TrainState:
    """Train from the last checkpoint, or from `seed` if there is none."""
    state = run.store.load_state()
    if state is None:
        baseline = await measure_baseline(run, seed)
        state = TrainState(current=baseline, best=baseline)
        run.checkpoint(state)
    elif drifted(run):
        state = await measured_again(run, seed, state)
        run.checkpoint(state)

    for step in run.plan.after(state.done):
        if reason := stop_reason(state, run.metric, run.config.evaluation.patience):
            run.emit(StoppedEarly(reason))
            break
        state = await train_step(run.at(step, state.memory), state, step)
        if step.closes_epoch:
            state = await close_epoch(run, state, step)
        run.checkpoint(state)
    return state


async def train_step(run: Run, state: TrainState, step: StepPlan) -> TrainState:
    """One step: roll out, reflect, aggregate, select, update, gate."""
    run.emit(step_started(run, step))
    skill = state.current.skill

    trajectories = await rollout(run, skill, run.batch(step), draw=step.seed)
    reflection = await reflect(run, skill, trajectories, state.lessons)
    merged = await aggregate(run, skill, reflection.patches)
    budget = await learning_rate(run, skill, merged, state.lessons)
    chosen = await select(run, skill, merged, budget)
    candidate = await update(run, skill, chosen)

    if candidate.skill == skill:
        run.emit(step_skipped(step, candidate, budget))
        return state.after_step(step, lesson_from(step, trajectories, reflection, chosen))

    measured = await measure_against(run, candidate.skill, state.current)
    decision = gate(measured, state.current, state.best, run.rule)
    run.emit(GateDecided(step.number, decision, measured.hard, measured.soft))
    # An edit that did not get into the candidate was not tried, so the gate rejected nothing of it.
    tried = replace(chosen, edits=candidate.applied)
    lesson = lesson_from(step, trajectories, reflection, tried, decision)
    return state.after_step(step, lesson, measured, decision)
