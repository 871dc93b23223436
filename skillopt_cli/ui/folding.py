"""The fold: from facts to a `RunView`, one at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, assert_never

from skillopt_cli.core.events import (
    AppendixWritten,
    BaselineMeasured,
    BatchScored,
    BudgetSpent,
    CallFailed,
    CallMade,
    CallRetried,
    CandidateMade,
    CheckpointSaved,
    Degraded,
    DriftAllowed,
    EditsChosen,
    EditsMerged,
    EpochCompared,
    GateDecided,
    LearningRateChosen,
    MemoryWritten,
    PaceChanged,
    ParameterRefused,
    PatchesProposed,
    PreflightPassed,
    Role,
    RolloutFinished,
    RunFailed,
    RunFinished,
    RunStarted,
    SlowUpdateDecided,
    StageFinished,
    StageStarted,
    Stamped,
    StepSkipped,
    StepStarted,
    StoppedEarly,
    SubscriberDropped,
    TestMeasured,
)
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.ui.parts import (
    NO_STANDING,
    EpochView,
    Spend,
    StageView,
    Standing,
    StepView,
)
from skillopt_cli.ui.view import RunView

RunFact = RunStarted | DriftAllowed | PreflightPassed | SubscriberDropped | RunFinished | RunFailed
WorkFact = (
    StageStarted
    | StageFinished
    | RolloutFinished
    | CallMade
    | CallFailed
    | CallRetried
    | ParameterRefused
    | PaceChanged
    | BudgetSpent
)
StepFact = (
    StepStarted
    | BatchScored
    | PatchesProposed
    | EditsMerged
    | LearningRateChosen
    | EditsChosen
    | AppendixWritten
    | CandidateMade
    | StepSkipped
    | GateDecided
)
EpochFact = EpochCompared | SlowUpdateDecided | MemoryWritten
ResultFact = BaselineMeasured | CheckpointSaved | TestMeasured | Degraded | StoppedEarly

_PLACES: Mapping[type, str] = {
    BatchScored: "batch",
    PatchesProposed: "proposed",
    LearningRateChosen: "rate",
    EditsChosen: "chosen",
    AppendixWritten: "appendix",
    CandidateMade: "candidate",
}
"""Facts a `StepView` keeps whole, and where."""

# Where in the run a weaker path was taken, when it was during the final tests.
TESTING = 1_000_000_000


def fold(facts: Iterable[Stamped], view: RunView | None = None) -> RunView:
    """The view after all `facts`, starting from `view` or from nothing."""
    view = view or RunView()
    for fact in facts:
        view = apply(view, fact)
    return view


def apply(view: RunView, fact: Stamped) -> RunView:
    """The view after one more fact. Pure; never raises, also on a log that lost some facts."""
    event = fact.event
    if isinstance(event, RunFact):
        return _run(view, event, fact.time)
    view = replace(view, time=fact.time, busy_until=fact.time)
    if isinstance(event, WorkFact):
        return _work(view, event)
    if isinstance(event, StepFact):
        return _step(view, event)
    if isinstance(event, EpochFact):
        return _epoch(view, event)
    if isinstance(event, ResultFact):
        return _result(view, event)
    assert_never(event)


def _run(view: RunView, event: RunFact, time: float) -> RunView:
    if isinstance(event, RunStarted):
        return _begin(view, event, time)
    view = replace(view, time=time)
    match event:
        case PreflightPassed():
            return replace(view, preflight={**view.preflight, event.role: event.model})
        case DriftAllowed():
            return replace(view, drift=view.drift + event.changes)
        case SubscriberDropped():
            return replace(view, dropped=(*view.dropped, event))
        case RunFinished() | RunFailed():
            return replace(view, ending=event, stages=(), busy_until=time)
    assert_never(event)


def _begin(view: RunView, event: RunStarted, time: float) -> RunView:
    """A process takes the run up: forget what it will do again, keep what was paid for."""
    done = event.done
    steps = tuple(step for step in view.steps if step.number <= done)
    if steps and event.recorded is not None:
        # The process before may have died between its checkpoint and the news of it.
        steps = (*steps[:-1], replace(steps[-1], standing=_standing_of(event.recorded)))
    known = [step.standing for step in steps if step.standing is not None]
    # Before the first checkpoint the baseline is measured anew, and its mishaps count anew.
    floor = done if done or view.saved else -1
    return replace(
        view,
        run=event,
        done=done,
        at=done,
        steps=steps,
        epochs=tuple(epoch for epoch in view.epochs if epoch.step <= done),
        standing=known[-1] if known else _seed_standing(view.baseline),
        stages=(),
        degraded={key: n for key, n in view.degraded.items() if key[0] <= floor},
        broken={key: n for key, n in view.broken.items() if key[0] <= floor},
        stopped="",
        ending=None,
        deserted=False,
        time=time,
        began=time,
        worked=view.wall_time if view.run else 0.0,
        busy_until=time,
    )


def _standing_of(saved: CheckpointSaved) -> Standing:
    return Standing(
        saved.current_score, saved.best_score, saved.current_step, saved.best_step, saved.chars
    )


def _seed_standing(baseline: BaselineMeasured | None) -> Standing:
    return Standing(baseline.value, baseline.value) if baseline else NO_STANDING


def _work(view: RunView, event: WorkFact) -> RunView:
    match event:
        case StageStarted():
            return _open_stage(view, event)
        case StageFinished():
            return _close_stage(view, event)
        case RolloutFinished():
            return _attempt(view, event)
        case CallMade():
            return _paid(view, event)
        case CallRetried():
            tried = view.retries.get(event.role, 0) + 1
            return replace(view, retries={**view.retries, event.role: tried}, last_retry=event)
        case CallFailed() | ParameterRefused() | PaceChanged() | BudgetSpent():
            return view
    assert_never(event)


def _paid(view: RunView, event: CallMade) -> RunView:
    key = (event.role, event.stage)

    def plus(spend: Mapping[tuple[Role, str], Spend]) -> dict[tuple[Role, str], Spend]:
        return {**spend, key: spend.get(key, Spend()).plus(event.usage)}

    step = _at_work(view)
    if step is not None:
        view = _note(view, step.number, spend=plus(step.spend))
    stages = tuple(
        replace(s, calls=s.calls + event.usage.calls) if s.stage == event.stage else s
        for s in view.stages
    )
    return replace(view, spend=plus(view.spend), stages=stages)


def _at_work(view: RunView) -> StepView | None:
    """The step that what happens now belongs to; None in the baseline and in the tests."""
    step = view.step
    return step if step and step.number == view.at and step.ended is None else None


def _open_stage(view: RunView, event: StageStarted) -> RunView:
    stage = StageView(
        event.step, event.stage, event.label, event.total, event.workers, began=view.time
    )
    return replace(
        view,
        at=TESTING if event.stage == "test" else view.at,
        stages=(*(s for s in view.stages if s.key != stage.key), stage),
        # Outside steps a resumed process begins the same stage again.
        broken={k: n for k, n in view.broken.items() if stage.step or k != stage.key},
    )


def _close_stage(view: RunView, event: StageFinished) -> RunView:
    key = (event.step, event.stage, event.label)
    for stage in view.stages:
        if stage.key == key and stage.stage == "measure":
            view = _measured(view, stage)
    return replace(view, stages=tuple(s for s in view.stages if s.key != key))


def _measured(view: RunView, stage: StageView) -> RunView:
    """Count a measurement for its step or, once that has decided, for the end of its epoch."""
    if not any(step.number == stage.step and step.decided for step in view.steps):
        return _note(view, stage.step, measured=stage.done)
    epochs = tuple(
        replace(e, measured=e.measured + stage.done) if e.step == stage.step else e
        for e in view.epochs
    )
    return replace(view, epochs=epochs)


def _attempt(view: RunView, event: RolloutFinished) -> RunView:
    key = (event.step, event.stage, event.label)
    broken = event.ending == "broken"
    stages = tuple(
        replace(
            s,
            done=s.done + 1,
            recalled=s.recalled + event.recalled,
            broken=s.broken + broken,
            moved=view.time,
            error=event.error if broken else s.error,
        )
        if s.key == key
        else s
        for s in view.stages
    )
    step = next((s for s in view.steps if s.number == event.step), None) if broken else None
    if step is not None:
        view = _note(view, step.number, broken=step.broken + 1)
    return replace(
        view,
        stages=stages,
        made=view.made + (not event.recalled),
        recalled=view.recalled + event.recalled,
        broken={**view.broken, key: _one_more(view, event)} if broken else view.broken,
    )


def _one_more(view: RunView, event: RolloutFinished) -> dict[str, int]:
    """The broken attempts of an attempt's stage by reason, with this one."""
    known = view.broken.get((event.step, event.stage, event.label), {})
    reason = event.error or "no reason given"
    return {**known, reason: known.get(reason, 0) + 1}


def _step(view: RunView, event: StepFact) -> RunView:
    match event:
        case StepStarted():
            fresh = StepView(event.step, began=view.time, plan=event)
            kept = tuple(step for step in view.steps if step.number < event.step)
            return replace(view, at=event.step, steps=(*kept, fresh))
        case EditsMerged():
            return _note(view, event.step, merged=event.edits)
        case (
            BatchScored()
            | PatchesProposed()
            | LearningRateChosen()
            | EditsChosen()
            | AppendixWritten()
            | CandidateMade()
        ):
            return _note(view, event.step, **{_PLACES[type(event)]: event})
        case StepSkipped():
            return _note(view, event.step, skipped=event.reason, standing=view.standing)
        case GateDecided():
            noted = _note(view, event.step, gate=event)
            step = next((s for s in noted.steps if s.number == event.step), None)
            standing = _stand(view.standing, event.step, event.decision)
            if event.decision.accepted:
                made = step.candidate if step else None
                standing = replace(standing, chars=made.chars if made else None)
            noted = _note(noted, event.step, standing=standing)
            return replace(noted, standing=standing)
    assert_never(event)


def _note(view: RunView, number: int, **known: Any) -> RunView:
    """The view with more known of a step, which is made when its start is missing in the log."""
    if number < 1:
        return view
    if view.steps and view.steps[-1].number == number:
        # Nearly always, and a log may hold a million calls.
        return replace(view, steps=(*view.steps[:-1], replace(view.steps[-1], **known)))
    others = {step.number: step for step in view.steps}
    others[number] = replace(others.get(number) or StepView(number), **known)
    return replace(view, steps=tuple(others[n] for n in sorted(others)))


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
        case EpochCompared():
            epoch = replace(epoch, compared=event)
        case SlowUpdateDecided():
            epoch = replace(epoch, slow=event)
        case MemoryWritten():
            epoch = replace(epoch, notes=event.notes)
        case _:
            assert_never(event)
    known[event.epoch] = epoch
    return replace(view, epochs=tuple(known[number] for number in sorted(known)))


def _result(view: RunView, event: ResultFact) -> RunView:
    match event:
        case BaselineMeasured():
            standing = view.standing if view.steps else _seed_standing(event)
            return replace(view, baseline=event, standing=standing)
        case CheckpointSaved():
            standing = _standing_of(event)
            noted = _note(view, event.done, standing=standing, ended=view.time)
            return replace(noted, done=event.done, saved=event, at=event.done, standing=standing)
        case TestMeasured():
            return replace(view, tests={**view.tests, event.label: event})
        case Degraded():
            return _degraded(view, event)
        case StoppedEarly():
            return replace(view, stopped=event.reason)
    assert_never(event)


def _degraded(view: RunView, event: Degraded) -> RunView:
    step = _at_work(view)
    if step is not None:
        said = (*step.degraded, f"{event.where}: {event.reason}")
        view = _note(view, step.number, degraded=said)
    key = (view.at, event.where)
    counts = {**view.degraded, key: view.degraded.get(key, 0) + 1}
    return replace(view, degraded=counts, last_degraded=event)
