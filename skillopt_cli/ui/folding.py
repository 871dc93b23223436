"""The fold: from facts to a `RunView`, one at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from skillopt_cli.core import events as ev
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.ledger import Ledger
from skillopt_cli.ui.calls import take_call
from skillopt_cli.ui.kinds import (
    CallFact,
    ControlFact,
    EpochFact,
    ResultFact,
    RunFact,
    StepFact,
    WorkFact,
)
from skillopt_cli.ui.parts import NO_STANDING, EpochView, Standing, StepView
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.work import take_work

_PLACES: Mapping[type, str] = {
    ev.BatchScored: "batch",
    ev.PatchesProposed: "proposed",
    ev.LearningRateChosen: "rate",
    ev.EditsChosen: "chosen",
    ev.AppendixWritten: "appendix",
    ev.CandidateMade: "candidate",
}
"""Facts a `StepView` keeps whole, and where."""


def fold(facts: Iterable[ev.Stamped], view: RunView | None = None) -> RunView:
    """The view after all `facts`, starting from `view` or from nothing."""
    view = view or RunView()
    for fact in facts:
        view = apply(view, fact)
    return view


def apply(view: RunView, fact: ev.Stamped) -> RunView:
    """The view after one more fact. Pure; never raises, also on a log that lost some facts."""
    event = fact.event
    if view.worked.held and isinstance(event, ev.RunContinued):
        view = _awake(view, fact.time - view.worked.latest)
    view = replace(view, time=fact.time, worked=view.worked.after(fact))
    if isinstance(event, RunFact):
        return _run(view, event)
    if isinstance(event, WorkFact):
        return take_work(view, event)
    if isinstance(event, CallFact):
        return take_call(view, event)
    if isinstance(event, StepFact):
        return _step(view, event)
    if isinstance(event, EpochFact):
        return _epoch(view, event)
    if isinstance(event, ResultFact):
        return _result(view, event)
    if isinstance(event, ControlFact):
        return replace(view, steering=view.steering.after(event))
    assert_never(event)


def _awake(view: RunView, held: float) -> RunView:
    """The view once a pause of so many seconds is over, which no pace should count."""
    stages = tuple(replace(s, began=s.began + held, moved=s.moved + held) for s in view.stages)
    step = view.working
    if step is None or not step.began:
        return replace(view, stages=stages)
    return replace(view, stages=stages).noted(step.number, began=step.began + held)


def _run(view: RunView, event: RunFact) -> RunView:
    match event:
        case ev.RunStarted():
            return _begin(view, event)
        case ev.PreflightPassed():
            return replace(view, preflight={**view.preflight, event.role: event.model})
        case ev.DriftAllowed():
            return replace(view, drift=view.drift + event.changes)
        case ev.SubscriberDropped():
            return replace(view, dropped=(*view.dropped, event))
        case ev.RunFinished() | ev.RunFailed():
            steering = view.steering.after(event)
            return replace(view, ending=event, stages=(), steering=steering)
    assert_never(event)


def _begin(view: RunView, event: ev.RunStarted) -> RunView:
    """A process takes the run up: forget what it will do again, keep what was paid for."""
    done = event.done
    steps = tuple(step for step in view.steps if step.number <= done)
    if steps and event.recorded is not None:
        # The process before may have died between its checkpoint and the news of it.
        steps = (*steps[:-1], replace(steps[-1], standing=_standing_of(event.recorded)))
    known = [step.standing for step in steps if step.standing is not None]
    redone = {step.number: step.ledger for step in view.steps if step.number > done}
    # Before the first checkpoint the baseline is measured anew, and its mishaps count anew.
    floor = done if done or view.saved else -1
    return replace(
        view,
        run=event,
        done=done,
        at=done,
        steps=steps,
        redone={**view.redone, **redone},
        tests=_tests_at(view, event.recorded),
        epochs=tuple(epoch for epoch in view.epochs if epoch.step <= done),
        standing=known[-1] if known else _seed_standing(view.baseline),
        stages=(),
        rounds=tuple(kept for kept in view.rounds if kept.step <= floor),
        degraded={key: n for key, n in view.degraded.items() if key[0] <= floor},
        broken={key: n for key, n in view.broken.items() if key[0] <= floor},
        stopped="",
        ending=None,
        steering=view.steering.after(event),
        deserted=False,
    )


def _standing_of(saved: ev.CheckpointSaved) -> Standing:
    return Standing(
        saved.current_score, saved.best_score, saved.current_step, saved.best_step, saved.chars
    )


def _tests_at(view: RunView, saved: ev.CheckpointSaved | None) -> dict[str, ev.TestMeasured]:
    """The tests that still hold: those of a best or final skill are of the text it then was."""
    texts = {"best": saved.best, "final": saved.current} if saved else {}
    return {
        label: test
        for label, test in view.tests.items()
        if (text := texts.get(label)) is None or text.digest == test.digest
    }


def _seed_standing(baseline: ev.BaselineMeasured | None) -> Standing:
    return Standing(baseline.value, baseline.value) if baseline else NO_STANDING


def _step(view: RunView, event: StepFact) -> RunView:
    match event:
        case ev.StepStarted():
            paid = view.redone.get(event.step, Ledger())
            fresh = StepView(event.step, began=view.time, plan=event, ledger=paid)
            kept = tuple(step for step in view.steps if step.number < event.step)
            return replace(view, at=event.step, steps=(*kept, fresh))
        case ev.EditsMerged():
            return view.noted(event.step, merged=event.edits)
        case (
            ev.BatchScored()
            | ev.PatchesProposed()
            | ev.LearningRateChosen()
            | ev.EditsChosen()
            | ev.AppendixWritten()
            | ev.CandidateMade()
        ):
            return view.noted(event.step, **{_PLACES[type(event)]: event})
        case ev.StepSkipped():
            return view.noted(event.step, skipped=event.reason, standing=view.standing)
        case ev.GateDecided():
            noted = view.noted(event.step, gate=event)
            step = next((s for s in noted.steps if s.number == event.step), None)
            standing = _stand(view.standing, event.step, event.decision)
            if event.decision.accepted:
                made = step.candidate if step else None
                standing = replace(standing, chars=made.chars if made else None)
            noted = noted.noted(event.step, standing=standing)
            return replace(noted, standing=standing)
    assert_never(event)


def _stand(standing: Standing, step: int, decision: GateDecision) -> Standing:
    if not decision.accepted:
        return standing
    moved = replace(standing, current=decision.candidate, current_step=step)
    if not decision.leads:
        return moved
    return replace(moved, best=decision.candidate, best_step=step)


def _epoch(view: RunView, event: EpochFact) -> RunView:
    known = {epoch.number: epoch for epoch in view.epochs}
    epoch = known.get(event.epoch) or EpochView(event.epoch, event.step)
    match event:
        case ev.EpochCompared():
            epoch = replace(epoch, compared=event)
        case ev.SlowUpdateDecided():
            epoch = replace(epoch, slow=event)
        case ev.MemoryWritten():
            epoch = replace(epoch, notes=event.notes)
        case _:
            assert_never(event)
    known[event.epoch] = epoch
    return replace(view, epochs=tuple(known[number] for number in sorted(known)))


def _result(view: RunView, event: ResultFact) -> RunView:
    match event:
        case ev.BaselineMeasured():
            standing = view.standing if view.steps else _seed_standing(event)
            return replace(view, baseline=event, standing=standing)
        case ev.CheckpointSaved():
            standing = _standing_of(event)
            noted = view.noted(event.done, standing=standing, ended=view.time)
            tests = _tests_at(view, event)
            noted = replace(noted, done=event.done, saved=event, at=event.done, tests=tests)
            return replace(noted, standing=standing)
        case ev.TestMeasured():
            return replace(view, tests={**view.tests, event.label: event})
        case ev.Degraded():
            return _degraded(view, event)
        case ev.StoppedEarly():
            return replace(view, stopped=event.reason)
    assert_never(event)


def _degraded(view: RunView, event: ev.Degraded) -> RunView:
    step = view.working
    if step is not None and event.of_step:
        said = (*step.degraded, f"{event.where}: {event.reason}")
        view = view.noted(step.number, degraded=said)
    key = (view.at, event.where)
    counts = {**view.degraded, key: view.degraded.get(key, 0) + 1}
    return replace(view, degraded=counts)
