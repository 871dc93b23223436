"""The fold's part for model calls: what they cost, how they failed, how fast they may be made."""

from __future__ import annotations

from typing import assert_never

from skillopt_cli.core import events as ev
from skillopt_cli.core.copies import changed
from skillopt_cli.core.ledger import PREFLIGHT, Ledger
from skillopt_cli.runlog.event_groups import CallFact
from skillopt_cli.runlog.view import RunView


def take_call(view: RunView, event: CallFact) -> RunView:
    """The view after one more fact about a model call."""
    match event:
        case ev.CallMade():
            return _paid(_asked_again(view, event), event)
        case ev.CallFailed():
            tried = view.failed.get(event.error, 0) + 1
            return changed(_paid(view, event), failed={**view.failed, event.error: tried})
        case ev.CallRetried():
            tried = view.retries.get(event.role, 0) + 1
            return changed(view, retries={**view.retries, event.role: tried}, last_retry=event)
        case ev.ParameterRefused():
            known = event in view.refused
            return view if known else changed(view, refused=(*view.refused, event))
        case ev.PaceChanged():
            return changed(view, pace={**view.pace, (event.provider, event.model): event})
        case ev.JudgedTwice():
            twice, agreed = view.judged_twice
            return changed(view, judged_twice=(twice + 1, agreed + event.agree))
        case ev.BudgetSpent():
            return changed(view, marks=view.marks | {(event.cap, event.limit, event.share)})
    assert_never(event)


def _asked_again(view: RunView, event: ev.CallMade) -> RunView:
    """The view with a call to the judge, a second one where the first verdict was unreadable."""
    if event.role != "judge" or event.stage == PREFLIGHT:
        return view
    asked, again = view.verdicts
    return changed(view, verdicts=(asked + (not event.turn), again + (event.turn > 0)))


def _paid(view: RunView, event: ev.CallMade | ev.CallFailed) -> RunView:
    step = view.working
    if step is None and event.stage in ("rollout", "reflect"):
        # They began before their step, which takes this over when it starts.
        coming = view.at + 1
        paid = view.redone.get(coming, Ledger()).after(event)
        view = changed(view, redone={**view.redone, coming: paid})
    elif step is not None and event.stage != "test":
        view = view.noted(step.number, ledger=step.ledger.after(event))
    # As in the ledger, an answer of no use is a call like any other.
    calls = event.usage.calls if event.usage is not None else 0
    stages = tuple(
        changed(s, calls=s.calls + calls) if s.stage == event.stage else s for s in view.stages
    )
    return changed(view, ledger=view.ledger.after(event), stages=stages)
