"""The fold's part for model calls: what they cost, how they failed, how fast they may be made."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from skillopt_cli.core import events as ev
from skillopt_cli.ui.kinds import CallFact
from skillopt_cli.ui.view import RunView


def take_call(view: RunView, event: CallFact) -> RunView:
    """The view after one more fact about a model call."""
    match event:
        case ev.CallMade():
            return _paid(view, event)
        case ev.CallFailed():
            tried = view.failed.get(event.error, 0) + 1
            return replace(_paid(view, event), failed={**view.failed, event.error: tried})
        case ev.CallRetried():
            tried = view.retries.get(event.role, 0) + 1
            return replace(view, retries={**view.retries, event.role: tried}, last_retry=event)
        case ev.ParameterRefused():
            known = event in view.refused
            return view if known else replace(view, refused=(*view.refused, event))
        case ev.PaceChanged():
            return replace(view, pace={**view.pace, (event.provider, event.model): event})
        case ev.JudgedTwice():
            twice, agreed = view.judged_twice
            return replace(view, judged_twice=(twice + 1, agreed + event.agree))
        case ev.BudgetSpent():
            return view  # what was spent is counted, and what may be is known from the start
    assert_never(event)


def _paid(view: RunView, event: ev.CallMade | ev.CallFailed) -> RunView:
    step = view.working
    if step is not None:
        view = view.noted(step.number, ledger=step.ledger.after(event))
    # As in the ledger, an answer of no use is a call like any other.
    calls = event.usage.calls if event.usage is not None else 0
    stages = tuple(
        replace(s, calls=s.calls + calls) if s.stage == event.stage else s for s in view.stages
    )
    return replace(view, ledger=view.ledger.after(event), stages=stages)
