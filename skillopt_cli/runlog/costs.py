"""What a run cost and within which limits, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from skillopt_cli.core.ledger import Ledger, Spent
from skillopt_cli.runlog.text.limits import caps_of
from skillopt_cli.runlog.view import RunView

Document = dict[str, Any]


def cost_entries(view: RunView) -> Document:
    """The entries of `summary.json` on calls, tokens, money and limits.

    Sums are over what was reported and None when nothing was: `silent_calls` counts what has no
    full token count, `unpriced_calls` what has no known price. `pace` is how fast each model may
    be asked at the end, for those that were ever slowed down.
    """
    total = view.spent
    limits = view.run.limits if view.run else None
    return {
        "retries": {
            "total": sum(view.retries.values()),
            "by_role": dict(sorted(view.retries.items())),
        },
        "failed_tries": {
            "total": sum(view.failed.values()),
            "by_error": dict(sorted(view.failed.items())),
        },
        "refused_parameters": [
            {"role": fact.role, "model": fact.model, "parameter": fact.parameter}
            for fact in view.refused
        ],
        "limits": {k: v for k, v in asdict(limits).items() if k != "caps"} if limits else None,
        "caps": {cap: {"limit": limit, "spent": _cut(used)} for cap, limit, used in caps_of(view)},
        "pace": [
            {k: v for k, v in asdict(view.pace[key]).items() if k != "kind"}
            for key in sorted(view.pace)
        ],
        "usd_total": _cut(total.usd),
        "usd_unknown_calls": total.unpriced,
        "token_summary": by_stage(view.ledger) | {"_total": spend_document(total)},
        "token_summary_by_role": {
            role: spend_document(view.spent_by(role)) for role in sorted(view.ledger.roles)
        },
    }


def by_stage(ledger: Ledger) -> Document:
    """What each stage cost, in alphabetical order."""
    stages: dict[str, Spent] = {}
    for (_, stage), spent in ledger.rows.items():
        stages[stage] = stages.get(stage, Spent()) + spent
    return {stage: spend_document(spent) for stage, spent in sorted(stages.items())}


def spend_document(spend: Spent) -> Document:
    """A spend as JSON; a sum is None when nothing of its kind was reported."""
    return {
        "calls": spend.calls,
        "prompt_tokens": spend.prompt_tokens,
        "completion_tokens": spend.completion_tokens,
        "cached_tokens": spend.cached_tokens,
        "reasoning_tokens": spend.reasoning_tokens,
        "total_tokens": spend.tokens,
        "usd": _cut(spend.usd),
        "failed_tries": spend.failed,
        "silent_calls": spend.silent,
        "unpriced_calls": spend.unpriced,
    }


def _cut(amount: float | None) -> float | None:
    """An amount without the dust of adding floats; a single token costs more than this drops."""
    return round(amount, 12) if isinstance(amount, float) else amount
