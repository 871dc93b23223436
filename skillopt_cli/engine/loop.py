"""The training loop: what happens, in order, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt_cli.core.events import GateDecided, StoppedEarly
from skillopt_cli.core.gate import gate
from skillopt_cli.core.plan import StepPlan
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson, TrainState, lesson_from
from skillopt_cli.core.verification import Draft
from skillopt_cli.engine.early_work import begin_last_epoch, rollout_of
from skillopt_cli.engine.evaluate import measured_again, untrained
from skillopt_cli.engine.event_builders import edit_counts, step_skipped, step_started
from skillopt_cli.stages import (
    Run,
    aggregate,
    check,
    close_epoch,
    keep_digest,
    learning_rate,
    measure_against,
    reflect,
    remeasure,
    select,
    update,
    verify,
)


async def train(run: Run, seed: SkillDocument, *, drifted: bool = False) -> TrainState:
    """Train from the last checkpoint, measured again if its conditions drifted, or from `seed`."""
    state = run.store.load_state()
    if state is None or drifted:
        state = await (measured_again(run, seed, state) if state else untrained(run, seed))
        run.checkpoint(state)

    for step in run.plan.after(state.done):
        if reason := run.nothing_to_gain(state):
            run.emit(StoppedEarly(reason))
            break
        begin_last_epoch(run, seed, step)
        state = await train_step(run.at(step, state.memory), state, step)
        if step.closes_epoch:
            state = await close_epoch(run, state, step)
        run.checkpoint(state)
    return state


async def train_step(run: Run, state: TrainState, step: StepPlan) -> TrainState:
    """One step: roll out, propose edits in rounds, check, update, gate."""
    run.emit(step_started(run, step))
    skill = state.current.skill

    trajectories = await run.finish(f"rollout {step.number}", rollout_of(state, step))
    draft = Draft(skill, skill, tuple(trajectories))
    while draft.rounds < run.config.optimizer.rounds and not draft.complete:
        refuted = state.refuted + draft.refuted
        draft = await propose(run.in_round(draft.rounds + 1, refuted), draft, state.lessons)
    keep_digest(run, trajectories, draft.reflection)
    draft = await check(run, trajectories, draft)
    candidate = await update(run, skill, draft.patch)

    state = run.noted(state, trajectories, draft.refuted)
    if candidate.skill == skill:
        run.emit(step_skipped(step, candidate, edit_counts(run, draft, trajectories, candidate)))
        lesson = lesson_from(step, trajectories, draft.reflection, draft.patch)
        return state.after_step(step, lesson)

    state = await remeasure(run, state, step)
    measured = await measure_against(run, candidate.skill, state.current)
    ties_lead = state.ties_lead(run.rule)
    decision = gate(measured, state.current, state.best, run.rule, ties_lead=ties_lead)
    run.emit(GateDecided(step.number, decision, measured.hard, measured.soft))
    # An edit that did not get into the candidate was not tried, so the gate rejected nothing of it.
    tried = replace(draft.patch, edits=candidate.applied)
    lesson = lesson_from(step, trajectories, draft.reflection, tried, decision)
    if decision.accepted:
        state = run.noted(state, draft.trajectories)
    return state.after_step(step, lesson, measured, decision)


async def propose(run: Run, draft: Draft, lessons: Sequence[Lesson]) -> Draft:
    """One round: reflect on the trajectories, aggregate, select, verify."""
    skill = draft.skill
    reflection = await reflect(run, skill, draft.unread, lessons)
    merged = await aggregate(run, skill, reflection.patches)
    draft = draft.reflected(reflection, merged, await learning_rate(run, skill, merged, lessons))
    chosen = await select(run, skill, merged, None if run.verifies else draft.room)
    return await verify(run, draft, chosen)
