"""Slow update: guidance from looking back over an epoch, in a region of its own.

Method, section 1 and decision 1: the guidance makes a new text, so it is measured before any number
is attached to it, whether the gate decides on it or it is injected by force. Where too few attempts
could be scored for that, the texts stay as they were.
"""

from __future__ import annotations

import json
from dataclasses import replace

from skillopt_cli.core.events import SlowUpdateAction, SlowUpdateDecided
from skillopt_cli.core.gate import GateDecision, gate
from skillopt_cli.core.score import Measured, Settled
from skillopt_cli.core.skill import SLOW_UPDATE
from skillopt_cli.core.state import TrainState
from skillopt_cli.stages.measure import measure, measure_against
from skillopt_cli.stages.run import Comparison, Run


def plant(run: Run, state: TrainState, epoch: int) -> TrainState:
    """Give both texts an empty region. Targets never see it, so marks and origin stay theirs."""
    current, best = (_planted(measured) for measured in (state.current, state.best))
    _state(run, SlowUpdateDecided(run.number, epoch, "inject_placeholder"), current)
    return replace(state, current=current, best=best)


async def slow_update(run: Run, state: TrainState, comparison: Comparison) -> TrainState:
    """Ask for guidance, write it into its region, measure the text, and adopt it or not."""
    epoch = comparison.epoch
    guidance = await run.variants.guide(run, comparison)
    if guidance is None:
        _state(run, SlowUpdateDecided(run.number, epoch, "no_content"), None)
        return state
    candidate = state.current.skill.with_region(SLOW_UPDATE, guidance)
    folder = f"slow_update/epoch_{epoch:02d}/"
    run.keep_skill(f"{folder}candidate_skill", candidate)
    # Outside the step's folder, whose own attempts at the same tasks stay as they are.
    apart = replace(run, folder=folder)
    if run.config.optimizer.slow_update_gate_with_selection:
        measured = await measure_against(apart, candidate, state.current)
        decision = gate(measured, state.current, state.best, run.rule)
        _state(
            run,
            SlowUpdateDecided(run.number, epoch, _action(decision), guidance, decision),
            measured,
        )
        if not decision.accepted or not isinstance(measured, Measured):
            return state
        best = measured if decision.leads else state.best
        return state.after_slow_update(measured, best, run.number)
    current = await measure(apart, candidate, "selection")
    best_text = state.best.skill.with_region(SLOW_UPDATE, guidance)
    beside = replace(run, folder=f"{folder}best/")
    best = current if best_text == candidate else await measure(beside, best_text, "selection")
    # Nothing could be compared with a text that has hardly a score: all later candidates would
    # be turned down.
    known = min(current.coverage, best.coverage) >= run.rule.min_coverage
    action: SlowUpdateAction = "force_accept" if known else "indecisive"
    _state(run, SlowUpdateDecided(run.number, epoch, action, guidance), current)
    if not known:
        return state
    run.keep_skill(f"skills/epoch_{epoch:02d}_before", state.best.skill)
    return state.after_slow_update(current, best, run.number)


def _planted(measured: Measured) -> Measured:
    skill = measured.skill
    if skill.region(SLOW_UPDATE) is not None:
        return measured
    return Measured(skill.with_region(SLOW_UPDATE, ""), measured.marks)


def _action(decision: GateDecision) -> SlowUpdateAction:
    match decision.verdict:
        case "new_best":
            return "accept_new_best"
        case "no_op":
            return "reject"
        case verdict:
            return verdict


def _state(run: Run, decided: SlowUpdateDecided, measured: Measured | Settled | None) -> None:
    """State what was decided, with the scores of the text it was decided on, and keep a copy."""
    if measured is not None:
        decided = replace(decided, hard=measured.hard, soft=measured.soft)
    document = {
        "epoch": decided.epoch,
        "action": decided.action,
        "slow_update_content": decided.guidance,
        "selection_hard": decided.hard,
        "selection_soft": decided.soft,
        "candidate_hash": measured.skill.digest[:16] if measured else None,
    }
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    run.keep(f"slow_update/epoch_{decided.epoch:02d}/slow_result.json", text)
    run.emit(decided)
