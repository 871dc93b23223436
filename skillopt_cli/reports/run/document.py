"""The report as one JSON document. Names and numbers are those of the run's own files."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_cli.core.events import Role
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.ledger import Spent
from skillopt_cli.reports.run.comparison import test_kind
from skillopt_cli.reports.run.cost import cost_document
from skillopt_cli.reports.run.early_rejection import savings
from skillopt_cli.reports.run.paired import paired_document
from skillopt_cli.reports.run.steps import step_line
from skillopt_cli.reports.run.subject import NO_DIFFERENCES, RunDifferences, Subject
from skillopt_cli.runlog.costs import Document, by_stage, spend_document
from skillopt_cli.runlog.history import rounded, step_record
from skillopt_cli.runlog.parts import EpochView, StepView
from skillopt_cli.runlog.summary import coverage, summarise
from skillopt_cli.runlog.text.epoch import epoch_document
from skillopt_cli.runlog.text.spend import less
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import SUMMARY_SCHEMA

BEST_NOTE = (
    "the best gate score was selected on the selection tasks, so it overestimates;"
    " the test score is unbiased"
)


_HISTORY_ALONE = ("current_origin", "support_counts", "timing", "wall_time_s")
"""Entries of a step in `history.json` that the report leaves out."""


def report_document(
    runs: Sequence[Subject], differences: RunDifferences = NO_DIFFERENCES
) -> Document:
    """The report on one or several runs: `{"runs": [...], "paired": [...], "differences": {...}}`.

    Each run holds its `summary` (as in `summary.json`) and its `steps`, oldest first, whose entries
    have the names and numbers of `history.json` where the meaning is the same; scores of steps have
    6 decimals, as there. `shared` counts, of each split whose tasks are not the same in all runs,
    those that all have, and those of each run.
    """
    labels = [run.label for run in runs]
    return {
        "schema": SUMMARY_SCHEMA,
        "runs": [_run(run) for run in runs],
        "paired": paired_document(runs, test_kind(runs), differences) if len(runs) > 1 else [],
        "shared": {
            split: {"tasks": len(one.tasks), "of": dict(zip(labels, one.sizes, strict=True))}
            for split, one in differences.shared.items()
        },
        "differences": {
            d.key: dict(zip(labels, d.values, strict=True)) for d in differences.settings
        },
    }


def _run(run: Subject) -> Document:
    view = run.view
    summary = summarise(view)
    if view.run is None and run.evaluation is not None:
        # The runs of its targets have the logs; it is written when all have ended.
        summary |= {"run_id": run.label, "status": "finished"}
    return {
        "run_id": summary["run_id"],
        "label": run.label,
        "kind": "training" if view.total_steps else "evaluation",
        "summary": summary,
        "best_gate_score_note": BEST_NOTE if view.total_steps else None,
        "steps": [step_document(step) for step in view.steps],
        "epochs": [_epoch(epoch) for epoch in view.epochs],
        "early_rejection": savings(view).document,
        "rollouts_saved": view.rollouts_saved,
        "skill_loaded": _loaded(view),
        "cost": cost_document(view),
        "spend_outside_steps": {role: _outside(view, role) for role in view.ledger.roles},
        "why_no_change": summary["why_no_change"],
        "evaluation": run.evaluation,
        "test_looks": run.ledger.document if run.ledger else None,
    }


def _loaded(view: RunView) -> Document | None:
    """How often the agent loaded the skill; None where that is not known of any attempt."""
    if not view.loaded:
        return None
    yes, no = (view.loaded.get(known, 0) for known in (True, False))
    return {"loaded": yes, "not_loaded": no, "share": rounded(yes / (yes + no))}


def step_document(step: StepView) -> Document:
    """A step of the report."""
    plan, standing, written = step.plan, step.standing, step.appendix
    record = step_record(step)
    decision = step.gate.decision if step.gate else None
    return {
        **{key: value for key, value in record.items() if key not in _HISTORY_ALONE},
        "line": step_line(step),
        "lr_decision": record.get("lr_decision"),
        "learning_rate": plan.learning_rate if plan else None,
        "scheduled_rate": plan.raw_rate if plan else None,
        "scheduler": plan.scheduler if plan else None,
        "rewrite_change_summary": record.get("rewrite_change_summary", []),
        "edits": [outcome.record for outcome in step.outcomes],
        "appendix_notes": list(written.added) if written else [],
        "n_appendix_notes_total": written.total if written else None,
        **_decision(decision),
        "rollouts_saved": step.saved,
        "best_step": standing.best_step if standing else None,
        "best_origin": record["best_origin"] if standing else None,
        "spend": {role: spend_document(step.spent_by(role)) for role in step.ledger.roles},
        "tokens": by_stage(step.ledger),
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


def _outside(view: RunView, role: Role) -> Document:
    """What the baseline, tests and checks cost, and work on steps that were begun again."""
    within = sum((step.spent_by(role) for step in view.steps), Spent())
    return spend_document(less(view.spent_by(role), within))
