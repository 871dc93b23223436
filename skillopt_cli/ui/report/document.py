"""The report as one JSON document. Names and numbers are those of the run's own files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

from skillopt_cli.core.edits import EditOutcome, EditState
from skillopt_cli.core.events import Role
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.ledger import Spent
from skillopt_cli.ui.costs import Document, by_stage, spend_document
from skillopt_cli.ui.epoch import epoch_document
from skillopt_cli.ui.parts import EpochView, StepView
from skillopt_cli.ui.rates import edit_budget
from skillopt_cli.ui.report.cost import cost_document
from skillopt_cli.ui.report.reported import Difference, Reported
from skillopt_cli.ui.report.savings import savings
from skillopt_cli.ui.report.steps import step_line
from skillopt_cli.ui.spend import less
from skillopt_cli.ui.summary import SCHEMA, coverage, summarise
from skillopt_cli.ui.view import RunView

BEST_NOTE = (
    "the best gate score was selected on the selection tasks, so it flatters;"
    " the test score is the honest one"
)


def report_document(runs: Sequence[Reported], differences: Sequence[Difference] = ()) -> Document:
    """The report on one or several runs: `{"runs": [...], "differences": {...}}`.

    Each run holds its `summary` (as in `summary.json`) and its `steps`, oldest first, whose entries
    have the names and numbers of `history.json` where the meaning is the same; scores of steps have
    6 decimals, as there.
    """
    labels = [run.label for run in runs]
    return {
        "schema": SCHEMA,
        "runs": [_run(run) for run in runs],
        "differences": {d.key: dict(zip(labels, d.values, strict=True)) for d in differences},
    }


def _run(run: Reported) -> Document:
    view = run.view
    summary = summarise(view)
    return {
        "run_id": summary["run_id"],
        "label": run.label,
        "kind": "training" if view.total_steps else "evaluation",
        "summary": summary,
        "best_gate_score_note": BEST_NOTE if view.total_steps else None,
        "steps": [_step(step) for step in view.steps],
        "epochs": [_epoch(epoch) for epoch in view.epochs],
        "early_rejection": savings(view).document,
        "rollouts_saved": view.rollouts_saved,
        "skill_loaded": _loaded(view),
        "cost": cost_document(view),
        "spend_outside_steps": {role: _outside(view, role) for role in view.ledger.roles},
        "why_no_change": summary["why_no_change"],
    }


def _loaded(view: RunView) -> Document | None:
    """How often the agent loaded the skill; None where that is not known of any attempt."""
    if not view.loaded:
        return None
    yes, no = (view.loaded.get(known, 0) for known in (True, False))
    return {"loaded": yes, "not_loaded": no, "share": rounded(yes / (yes + no))}


def _step(step: StepView) -> Document:
    plan, standing = step.plan, step.standing
    return {
        "step": step.number,
        "epoch": plan.epoch if plan else None,
        "step_in_epoch": plan.step_in_epoch - 1 if plan else None,
        "action": step.action,
        "line": step_line(step),
        "skip_reason": step.skipped,
        **_proposal(step),
        **_appendix(step),
        **_gate(step),
        "current_score": rounded(standing.current if standing else None),
        "best_score": rounded(standing.best if standing else None),
        "best_step": standing.best_step if standing else None,
        "skill_len": standing.chars if standing else None,
        "spend": {role: spend_document(step.spent_by(role)) for role in step.ledger.roles},
        "tokens": by_stage(step.ledger),
        "broken_attempts": step.broken,
        "degraded": sorted(step.degraded),
    }


def _proposal(step: StepView) -> Document:
    plan, batch, proposed, made = step.plan, step.batch, step.proposed, step.candidate
    failures = proposed.failure_patches if proposed else 0
    successes = proposed.success_patches if proposed else 0
    return {
        "rollout_hard": rounded(batch.hard if batch else None),
        "rollout_soft": rounded(batch.soft if batch else None),
        "rollout_n": batch.n if batch else 0,
        "rollout_scored": batch.scored if batch else 0,
        "n_patches": failures + successes,
        "n_failure_patches": failures,
        "n_success_patches": successes,
        "n_edits_merged": step.merged,
        "n_edits_ranked": len(step.chosen.chosen) if step.chosen else None,
        "edit_budget": edit_budget(step),
        "lr_control_mode": plan.control if plan else None,
        "lr_decision": step.rate.record if step.rate else None,
        "learning_rate": plan.learning_rate if plan else None,
        "scheduled_rate": plan.raw_rate if plan else None,
        "scheduler": plan.scheduler if plan else None,
        "candidate_hash": made.digest[:16] if made else None,
        "candidate_skill_len": made.chars if made else None,
        "rewrite_change_summary": list(made.changes) if made else [],
        "edit_apply_summary": _states(step.outcomes) if made else None,
        "edits": [_edit(outcome) for outcome in step.outcomes],
    }


def _appendix(step: StepView) -> Document:
    written = step.appendix
    if written is None:
        return {"appendix_notes": [], "n_appendix_notes_total": None}
    return {
        "appendix_notes": list(written.added),
        "n_execution_lapse_notes": written.proposed,
        "n_appendix_notes_added": len(written.added),
        "n_appendix_notes_total": written.total,
        "n_appendix_notes_consolidated": written.consolidated,
    }


def _gate(step: StepView) -> Document:
    fact = step.gate
    return {
        "gate_metric": fact.decision.metric if fact else None,
        "selection_hard": rounded(fact.hard if fact else None),
        "selection_soft": rounded(fact.soft if fact else None),
        **_decision(fact.decision if fact else None),
        "rollouts_saved": step.saved,
    }


def _decision(decision: GateDecision | None) -> Document:
    """The gate's numbers; with `early_rejected` the candidate's score is an upper bound."""
    return {
        "candidate_gate_score": rounded(decision.candidate if decision else None),
        "incumbent_gate_score": rounded(decision.incumbent if decision else None),
        "selection_scored": decision.scored if decision else 0,
        "selection_n": decision.n if decision else 0,
        "selection_coverage": coverage(decision.scored, decision.n) if decision else None,
        "early_rejected": decision.early if decision else False,
        "fixed": list(decision.fixed) if decision else [],
        "broke": list(decision.broke) if decision else [],
    }


def _epoch(epoch: EpochView) -> Document:
    document = epoch_document(epoch)
    decision = epoch.slow.decision if epoch.slow else None
    return document | {**_decision(decision), "rollouts_saved": epoch.saved}


def _edit(outcome: EditOutcome) -> dict[str, Any]:
    return {"state": outcome.state, "reason": outcome.reason, **outcome.edit.record}


def _states(outcomes: Sequence[EditOutcome]) -> Document:
    states = Counter(outcome.state for outcome in outcomes)
    return {
        "total": len(outcomes),
        "skipped": len(outcomes) - states["applied"],
        **{state: states[state] for state in get_args(EditState)},
    }


def _outside(view: RunView, role: Role) -> Document:
    """What the baseline, tests and checks cost, and work on steps that were begun anew."""
    within = sum((step.spent_by(role) for step in view.steps), Spent())
    return spend_document(less(view.spent_by(role), within))


def rounded(value: float | None) -> float | None:
    """A score with the 6 decimals of `history.json`."""
    return None if value is None else round(value, 6)
