"""`history.json`: one record per recorded step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, get_args

from skillopt_cli.core.edits import EditState
from skillopt_cli.core.events import StageName
from skillopt_cli.runlog.costs import by_stage
from skillopt_cli.runlog.parts import NO_STANDING, StepView
from skillopt_cli.runlog.view import RunView

Record = dict[str, Any]

VOLATILE = ("timing", "tokens", "wall_time_s")
"""Keys of a record that differ between two runs of the same thing; the others do not."""

_SECONDS: Mapping[str, StageName] = {
    "rollout_s": "rollout",
    "reflect_s": "reflect",
    "aggregate_s": "aggregate",
    "select_s": "select",
    "update_s": "update",
    "evaluate_s": "measure",
}
_TOKENS = (
    "calls",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "usd",
)


def history(view: RunView) -> list[Record]:
    """The content of `history.json`: one record per recorded step, in order."""
    return [step_record(step) for step in view.recorded]


def step_record(step: StepView) -> Record:
    """The record of a step.

    Scores and means have 6 decimals, times (seconds) 1; None is what is not known.
    """
    plan, standing = step.plan, step.standing or NO_STANDING
    return {
        "step": step.number,
        "epoch": plan.epoch if plan else None,
        "step_in_epoch": plan.step_in_epoch - 1 if plan else None,
        **_rollout(step),
        **_edits(step),
        **_candidate(step),
        **_appendix(step),
        **_gate(step),
        "current_score": rounded(standing.current),
        "best_score": rounded(standing.best),
        "best_step": standing.best_step,
        "current_origin": origin(standing.current_step, standing.current_epoch),
        "best_origin": origin(standing.best_step, standing.best_epoch),
        "skill_len": standing.chars,
        "broken_attempts": step.broken,
        "degraded": sorted(step.degraded),  # calls in flight together end in any order
        "timing": {key: round(step.seconds.get(s, 0.0), 1) for key, s in _SECONDS.items()},
        "tokens": {
            stage: {key: spent[key] for key in _TOKENS}
            for stage, spent in by_stage(step.ledger).items()
        },
        "wall_time_s": round(step.wall_time, 1),
    }


def _rollout(step: StepView) -> Record:
    batch = step.batch
    return {
        "rollout_hard": rounded(batch.hard) if batch else None,
        "rollout_soft": rounded(batch.soft) if batch else None,
        "rollout_n": batch.n if batch else 0,
        "rollout_scored": batch.scored if batch else 0,
    }


def _edits(step: StepView) -> Record:
    proposed, rate, plan = step.proposed, step.rate, step.plan
    return {
        "n_patches": step.patches,
        "n_failure_patches": proposed.failure_patches if proposed else 0,
        "n_success_patches": proposed.success_patches if proposed else 0,
        "n_edits_merged": step.merged,
        "n_edits_ranked": len(step.ranked) if step.choices else None,
        "edit_budget": step.edit_budget,
        "lr_control_mode": plan.control if plan else None,
        **({"lr_decision": rate.record} if rate else {}),
        "support_counts": [edit.support for edit in step.ranked],
    }


def _candidate(step: StepView) -> Record:
    made = step.candidate
    if made is None:
        return {"candidate_hash": None, "candidate_skill_len": None, "edit_apply_summary": None}
    states = Counter(outcome.state for outcome in made.outcomes)
    changes = {"rewrite_change_summary": list(made.changes)} if made.changes else {}
    return {
        **changes,
        "candidate_hash": made.digest[:16],
        "candidate_skill_len": made.chars,
        "edit_apply_summary": {
            "total": len(made.outcomes),
            "skipped": sum(not outcome.changed for outcome in made.outcomes),
            **{state: states[state] for state in get_args(EditState)},
        },
    }


def _appendix(step: StepView) -> Record:
    """Only of a step whose analysts gave notes."""
    written = step.appendix
    if written is None:
        return {}
    return {
        "n_execution_lapse_notes": written.proposed,
        "n_appendix_notes_added": len(written.added),
        "n_appendix_notes_total": written.total,
        "n_appendix_notes_consolidated": written.consolidated,
    }


def _gate(step: StepView) -> Record:
    gated = step.gate
    decision = gated.decision if gated else None
    return {
        "selection_hard": rounded(gated.hard) if gated else None,
        "selection_soft": rounded(gated.soft) if gated else None,
        "selection_scored": decision.scored if decision else 0,
        "selection_n": decision.n if decision else 0,
        "gate_metric": decision.metric if decision else None,
        "candidate_gate_score": rounded(decision.candidate) if decision else None,
        "early_rejected": decision.early if decision else False,
        "action": step.action,
        "skip_reason": step.skipped,
        "fixed": list(decision.fixed) if decision else [],
        "broke": list(decision.broke) if decision else [],
    }


def origin(step: int, epoch: int = 0) -> str:
    """Where a text of a run comes from, as records have it."""
    if epoch:
        return f"slow_update_epoch_{epoch:02d}"
    return f"step_{step:04d}" if step else "initial_skill"


def rounded(value: float | None) -> float | None:
    """A score as records have it, with 6 decimals."""
    return None if value is None else round(value, 6)
