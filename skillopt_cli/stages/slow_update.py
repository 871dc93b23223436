"""Slow update: guidance from looking back over an epoch, in a region of its own.

Method, section 1 and decision 1: the guidance makes a new text, so it is measured before any number
is attached to it, whether the gate decides on it or it is injected by force.
"""

from __future__ import annotations

import json

from skillopt_cli.core.events import SlowUpdateAction, SlowUpdateDecided
from skillopt_cli.core.gate import GateDecision, gate
from skillopt_cli.core.score import Measured, Settled
from skillopt_cli.core.skill import SLOW_UPDATE
from skillopt_cli.core.state import TrainState
from skillopt_cli.stages.measure import measure, measure_against
from skillopt_cli.stages.run import Comparison, Run


def plant(run: Run, state: TrainState, epoch: int) -> TrainState:
    """Give both texts an empty region. Targets never see it, so their marks hold for the new text."""
    current, best = (_planted(measured) for measured in (state.current, state.best))
    _decided(run, epoch, "inject_placeholder", "", None, current)
    return state.after_slow_update(current, best, run.number)


async def slow_update(run: Run, state: TrainState, comparison: Comparison) -> TrainState:
    """Ask for guidance, write it into its region, measure the text, and adopt it or not."""
    epoch = comparison.epoch
    guidance = await run.variants.guide(run, comparison)
    if guidance is None:
        _decided(run, epoch, "no_content", "", None, None)
        return state
    candidate = state.current.skill.with_region(SLOW_UPDATE, guidance)
    run.keep(f"slow_update/epoch_{epoch:02d}/candidate_skill.md", candidate.text)
    if run.config.optimizer.slow_update_gate_with_selection:
        measured = await measure_against(run, candidate, state.current)
        decision = gate(measured, state.current, state.best, run.rule)
        _decided(run, epoch, _action(decision), guidance, decision, measured)
        if not decision.accepted or not isinstance(measured, Measured):
            return state
        best = state.best if decision.verdict == "accept" else measured
        return state.after_slow_update(measured, best, run.number)
    run.keep(f"skills/epoch_{epoch:02d}_before.md", state.best.skill.text)
    current = await measure(run, candidate, "selection")
    best_text = state.best.skill.with_region(SLOW_UPDATE, guidance)
    best = current if best_text == candidate else await measure(run, best_text, "selection")
    _decided(run, epoch, "force_accept", guidance, None, current)
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


def _decided(
    run: Run,
    epoch: int,
    action: SlowUpdateAction,
    guidance: str,
    decision: GateDecision | None,
    measured: Measured | Settled | None,
) -> None:
    hard = measured.hard if measured else None
    soft = measured.soft if measured else None
    fact = SlowUpdateDecided(run.number, epoch, action, guidance, decision, hard, soft)
    document = {
        "epoch": epoch,
        "action": action,
        "slow_update_content": guidance,
        "selection_hard": hard,
        "selection_soft": soft,
        "candidate_hash": measured.skill.digest[:16] if measured else None,
    }
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    run.keep(f"slow_update/epoch_{epoch:02d}/slow_result.json", text)
    run.emit(fact)
