"""The fold: from facts to a `RunView`, one at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from skillopt_cli.core import events as ev
from skillopt_cli.core.copies import changed
from skillopt_cli.core.errors import Interrupted
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.ledger import Ledger
from skillopt_cli.runlog.event_groups import (
    CallFact,
    ControlFact,
    EpochFact,
    ResultFact,
    RunFact,
    StepFact,
    WorkFact,
)
from skillopt_cli.runlog.fold_calls import take_call
from skillopt_cli.runlog.fold_work import take_work
from skillopt_cli.runlog.parts import NO_STANDING, EpochView, Standing, StepView
from skillopt_cli.runlog.view import RunView

_PLACES: Mapping[type, str] = {
    ev.BatchScored: "batch",
    ev.LearningRateChosen: "rate",
    ev.PassingChecked: "checked",
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
    if isinstance(event, ev.RunStarted):
        view = _begin(view, event)
    if view.worked.held and isinstance(event, ev.RunContinued):
        view = _awake(view, fact.time - view.worked.latest)
    view = changed(view, time=fact.time, worked=view.worked.after(fact))
    # The most frequent facts first.
    if isinstance(event, WorkFact):
        return take_work(view, event)
    if isinstance(event, CallFact):
        return take_call(view, event)
    if isinstance(event, RunFact):
        return _run(view, event)
    if isinstance(event, StepFact):
        return _step(view, event)
    if isinstance(event, EpochFact):
        return _epoch(view, event)
    if isinstance(event, ResultFact):
        return _result(view, event)
    if isinstance(event, ControlFact):
        return changed(view, steering=view.steering.after(event))
    assert_never(event)


def _awake(view: RunView, held: float) -> RunView:
    """The view once a pause of so many seconds is over, which no pace should count."""
    stages = tuple(changed(s, began=s.began + held, moved=s.moved + held) for s in view.stages)
    step = view.working
    if step is None or not step.began:
        return changed(view, stages=stages)
    return changed(view, stages=stages).noted(step.number, began=step.began + held)


def _run(view: RunView, event: RunFact) -> RunView:
    match event:
        case ev.RunStarted():
            return view  # taken in before the time went on
        case ev.PreflightPassed():
            return changed(view, preflight={**view.preflight, event.role: event.model})
        case ev.DriftAllowed():
            return changed(view, drift=view.drift + event.changes, drifted=True)
        case ev.SubscriberDropped():
            return changed(view, dropped=(*view.dropped, event))
        case ev.RunFinished() | ev.RunFailed():
            steering = view.steering.after(event)
            failed = isinstance(event, ev.RunFailed) and event.exit_code != Interrupted.exit_code
            failures = view.failures + failed
            return changed(view, ending=event, stages=(), steering=steering, failures=failures)
    assert_never(event)


def _begin(view: RunView, event: ev.RunStarted) -> RunView:
    """A process takes the run up: forget what it will do again, keep what was paid for."""
    done = event.done
    steps = tuple(step for step in view.steps if step.number <= done)
    if steps and steps[-1].ended is None:
        # The process before died between its checkpoint and the news of it.
        saved = _standing_of(event.recorded) if event.recorded else steps[-1].standing
        steps = (*steps[:-1], changed(steps[-1], standing=saved, ended=view.worked.latest))
    known = [step.standing for step in steps if step.standing is not None]
    if event.recorded is not None:
        known.append(_standing_of(event.recorded))
    lost = [s for s in view.steps if s.number > done and s.ended is None]
    redone = {s.number: s.ledger for s in lost}
    interrupted = {s.number: s.earlier + view.worked.latest - s.began for s in lost}
    # Before the first checkpoint the baseline is measured again, and its mishaps count again.
    floor = done if done or view.saved else -1
    return changed(
        view,
        run=event,
        done=done,
        at=done,
        steps=steps,
        redone={**view.redone, **redone},
        interrupted={**view.interrupted, **interrupted},
        tests=_tests_at(view, event.recorded),
        looks=view.looks.after(event, view.time),
        epochs=tuple(epoch for epoch in view.epochs if epoch.step <= done),
        standing=known[-1] if known else _seed_standing(view.baseline),
        stages=(),
        rounds=tuple(kept for kept in view.rounds if kept.step <= floor),
        degraded={
            (at, where): n
            for (at, where), n in view.degraded.items()
            if at <= floor and where not in ev.NOTICED  # which this process states again
        },
        broken={key: n for key, n in view.broken.items() if key[0] <= floor},
        stopped="",
        verdict=None,
        ending=None,
        steering=view.steering.after(event),
        deserted=False,
    )


def _standing_of(saved: ev.CheckpointSaved) -> Standing:
    return Standing(
        current=saved.current_score,
        best=saved.best_score,
        current_step=saved.current_step,
        best_step=saved.best_step,
        chars=saved.chars,
        current_epoch=saved.current_epoch,
        best_epoch=saved.best_epoch,
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
            redone = dict(view.redone)
            paid = redone.pop(event.step, Ledger())
            earlier = view.interrupted.get(event.step, 0.0)
            fresh = StepView(event.step, view.time, earlier=earlier, plan=event, ledger=paid)
            kept = tuple(step for step in view.steps if step.number < event.step)
            return changed(view, at=event.step, steps=(*kept, fresh), redone=redone)
        case ev.PatchesProposed() | ev.EditsMerged() | ev.EditsChosen() | ev.EditsVerified():
            return _round(view, event)
        case (
            ev.BatchScored()
            | ev.LearningRateChosen()
            | ev.PassingChecked()
            | ev.AppendixWritten()
            | ev.CandidateMade()
        ):
            return view.noted(event.step, **{_PLACES[type(event)]: event})
        case ev.StepSkipped():
            why = {"skipped": event.reason, "counts": event.counts}
            return view.noted(event.step, **why, standing=view.standing)
        case ev.GateDecided():
            noted = view.noted(event.step, gate=event)
            step = next((s for s in noted.steps if s.number == event.step), None)
            standing = _stand(view.standing, event.step, event.decision)
            if event.decision.accepted:
                made = step.candidate if step else None
                standing = changed(standing, chars=made.chars if made else None)
            noted = noted.noted(event.step, standing=standing)
            return changed(noted, standing=standing)
    assert_never(event)


def _round(
    view: RunView,
    event: ev.PatchesProposed | ev.EditsMerged | ev.EditsChosen | ev.EditsVerified,
) -> RunView:
    """The view with a fact of one round of analysis, added to those of the step's earlier ones."""
    step = next((s for s in view.steps if s.number == event.step), None)
    earlier = step if step is not None and event.round > 1 else None
    match event:
        case ev.EditsMerged():
            before = earlier.merged or 0 if earlier else 0
            return view.noted(event.step, merged=before + event.edits)
        case ev.EditsChosen():
            choices = earlier.choices if earlier else ()
            return view.noted(event.step, choices=(*choices, event))
        case ev.EditsVerified():
            known = earlier.verified if earlier else ()
            return view.noted(event.step, verified=(*known, event))
        case ev.PatchesProposed():
            if earlier and (known_patches := earlier.proposed):
                event = replace(
                    event,
                    asked=known_patches.asked + event.asked,
                    failure_patches=known_patches.failure_patches + event.failure_patches,
                    success_patches=known_patches.success_patches + event.success_patches,
                    edits=known_patches.edits + event.edits,
                    unknown_tasks=known_patches.unknown_tasks + event.unknown_tasks,
                )
            return view.noted(event.step, proposed=event)


def _stand(standing: Standing, step: int, decision: GateDecision) -> Standing:
    if not decision.accepted:
        return standing
    moved = changed(standing, current=decision.candidate, current_step=step, current_epoch=0)
    if not decision.leads:
        return moved
    return changed(moved, best=decision.candidate, best_step=step, best_epoch=0)


def _epoch(view: RunView, event: EpochFact) -> RunView:
    known = {epoch.number: epoch for epoch in view.epochs}
    epoch = known.get(event.epoch) or EpochView(event.epoch, event.step)
    match event:
        case ev.EpochCompared():
            epoch = changed(epoch, compared=event)
        case ev.SlowUpdateDecided():
            epoch = changed(epoch, slow=event)
        case ev.MemoryWritten():
            epoch = changed(epoch, notes=event.notes)
        case _:
            assert_never(event)
    known[event.epoch] = epoch
    return changed(view, epochs=tuple(known[number] for number in sorted(known)))


def _result(view: RunView, event: ResultFact) -> RunView:
    match event:
        case ev.BaselineMeasured():
            standing = view.standing if view.steps else _seed_standing(event)
            return changed(view, baseline=event, standing=standing)
        case ev.CheckpointSaved():
            standing, last = _standing_of(event), view.step
            if last is None or last.number != event.done or last.ended is None:
                view = view.noted(event.done, standing=standing, ended=view.time)
            return changed(
                view,
                done=event.done,
                saved=event,
                at=event.done,
                tests=_tests_at(view, event),
                standing=standing,
                drifted=False,
            )
        case ev.SkillPruned():
            return changed(view, pruned=event)
        case ev.VerdictReached():
            return changed(view, verdict=event.verdict, majority=event.majority)
        case ev.TestMeasured():
            looks = view.looks.after(event, view.time)
            return changed(view, tests={**view.tests, event.label: event}, looks=looks)
        case ev.Degraded():
            return _degraded(view, event)
        case ev.StoppedEarly():
            return changed(view, stopped=event.reason)
    assert_never(event)


def _degraded(view: RunView, event: ev.Degraded) -> RunView:
    step = view.working
    if step is not None and event.of_step:
        paths = (*step.degraded, f"{event.where}: {event.reason}")
        view = view.noted(step.number, degraded=paths)
    if event.where == ev.BUDGET and view.degraded_reasons.get(event.where) == event.reason:
        # Each process states it once.
        return view
    key = (view.at, event.where)
    counts = {**view.degraded, key: view.degraded.get(key, 0) + 1}
    reasons = {**view.degraded_reasons, event.where: event.reason}
    return changed(view, degraded=counts, degraded_reasons=reasons)
