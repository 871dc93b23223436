"""Slow update: guidance from looking back over an epoch, in a region of its own.

Method, section 1 and decision 1: the guidance makes a new text, so it is measured before any number
is attached to it, whether the gate decides on it or it is injected by force. Where too few attempts
could be scored for that, the texts stay as they were.
"""

from __future__ import annotations

import json
from dataclasses import replace

from skillopt_cli.core.events import SlowUpdateAction, SlowUpdateDecided
from skillopt_cli.core.gate import GateDecision, GatePolicy, GateRule, gate
from skillopt_cli.core.plan import StepPlan
from skillopt_cli.core.score import Measured, Settled
from skillopt_cli.core.skill import SLOW_UPDATE
from skillopt_cli.core.state import TrainState
from skillopt_cli.stages.leak_check import checked_guidance
from skillopt_cli.stages.measure import measure_against
from skillopt_cli.stages.run import Comparison, Run


def first_epoch(run: Run, state: TrainState, step: StepPlan) -> None:
    """Record that the first epoch has none before it. The first guidance makes the region."""
    decided = SlowUpdateDecided(run.number, step.epoch, "inject_placeholder")
    _record(run, decided, state.current)


async def slow_update(
    run: Run, state: TrainState, step: StepPlan, comparison: Comparison
) -> TrainState:
    """Ask for guidance, write it into its region, measure the text, and adopt it or not.

    Adopted guidance makes the current text. The best text stays unless that measured better.
    """
    written = await run.variants.guide(run, comparison)
    guidance = checked_guidance(run, comparison, written)
    if guidance is None:
        _record(run, SlowUpdateDecided(run.number, step.epoch, "no_content"), None)
        return state
    candidate = state.current.skill.with_region(SLOW_UPDATE, guidance)
    folder = f"slow_update/epoch_{step.epoch:02d}/"
    run.keep_skill(f"{folder}candidate_skill", candidate)
    rule = guidance_rule(run)
    # Outside the step's folder, whose own attempts at the same tasks stay as they are.
    apart = replace(run, folder=folder, rule=rule)
    measured = await measure_against(apart, candidate, state.current)
    decision = _comparable(gate(measured, state.current, state.best, rule), rule)
    action = _action(decision)
    decided = SlowUpdateDecided(run.number, step.epoch, action, guidance, decision)
    _record(run, decided, measured)
    if not decision.accepted or not isinstance(measured, Measured):
        return state
    if action == "force_accept":
        run.keep_skill(f"skills/epoch_{step.epoch:02d}_before", state.current.skill)
    return state.after_slow_update(step, measured, decision)


def guidance_rule(run: Run) -> GateRule:
    """How guidance is judged: by the gate, which may accept ties, or accepted by force."""
    settings = run.config.optimizer
    gated = run.rule.use_gate and settings.slow_update_gate_with_selection
    policy: GatePolicy = "not_worse" if settings.slow_update_accept_ties else "strict"
    return replace(run.rule, use_gate=gated, policy=policy)


def _comparable(decision: GateDecision, rule: GateRule) -> GateDecision:
    """The decision; indecisive where guidance would be injected that has hardly a score.

    Nothing could be compared with such a text: all later candidates would be rejected.
    """
    covered = decision.scored >= rule.min_coverage * decision.n
    if decision.verdict == "force_accept" and not covered:
        return replace(decision, verdict="indecisive", beats_best=False)
    return decision


def _action(decision: GateDecision) -> SlowUpdateAction:
    match decision.verdict:
        case "new_best":
            return "accept_new_best"
        case "no_op":
            return "reject"
        case verdict:
            return verdict


def _record(run: Run, decided: SlowUpdateDecided, measured: Measured | Settled | None) -> None:
    """Emit what was decided, with the scores of the text it was decided on, and keep a copy."""
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
