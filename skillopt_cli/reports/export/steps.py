"""The steps of runs as a table, in the names and numbers of `history.json`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from skillopt_cli.reports.export.table import Column, ExportTable, Type
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.history import rounded, step_record
from skillopt_cli.runlog.parts import StepView

_TYPES: dict[str, Type] = {
    "step": "count",
    "epoch": "count",
    "action": "text",
    "rollout_hard": "number",
    "rollout_soft": "number",
    "rollout_scored": "count",
    "rollout_n": "count",
    "candidate_gate_score": "number",
    "incumbent_gate_score": "number",
    "early_rejected": "flag",
    "selection_hard": "number",
    "selection_soft": "number",
    "selection_scored": "count",
    "selection_n": "count",
    "fixed": "count",
    "broke": "count",
    "current_score": "number",
    "best_score": "number",
    "current_origin": "text",
    "best_origin": "text",
    "edits_applied": "count",
    "edits_total": "count",
    "skill_len": "count",
    "broken_attempts": "count",
    "rollouts_saved": "count",
    "calls": "count",
    "prompt_tokens": "count",
    "completion_tokens": "count",
    "usd": "number",
    "wall_time_s": "number",
}
_COLUMNS = (Column("run", "text"), *(Column(name, kind) for name, kind in _TYPES.items()))


def step_table(runs: Sequence[Subject]) -> ExportTable:
    """A row for each step of each run, oldest first; with `early_rejected` the score is a bound."""
    return ExportTable(_COLUMNS, [row for run in runs for row in _rows(run)])


def _rows(run: Subject) -> Iterator[tuple[Any, ...]]:
    for step in run.view.steps:
        record = step_record(step) | _more(step)
        yield (run.label, *(record.get(name) for name in _TYPES))


def _more(step: StepView) -> dict[str, Any]:
    """What `history.json` has as a list or in parts, and what it has not."""
    decision = step.gate.decision if step.gate else None
    full = decision if decision and not decision.early else None
    applied = [outcome.changed for outcome in step.outcomes] if step.candidate else None
    spent = step.ledger.total
    return {
        "incumbent_gate_score": rounded(decision.incumbent if decision else None),
        "fixed": len(full.fixed) if full else None,
        "broke": len(full.broke) if full else None,
        "edits_applied": None if applied is None else sum(applied),
        "edits_total": None if applied is None else len(applied),
        "rollouts_saved": step.saved,
        "calls": spent.calls,
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "usd": None if spent.usd is None else round(spent.usd, 12),
    }
