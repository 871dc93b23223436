"""The fold's part for work under way: stages and attempts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import assert_never

from skillopt_cli.core import events as ev
from skillopt_cli.core.copies import changed
from skillopt_cli.runlog.event_groups import WorkFact
from skillopt_cli.runlog.parts import IN_ROUNDS, StageView
from skillopt_cli.runlog.rounds import closed, noted, opened
from skillopt_cli.runlog.view import TESTING, RunView


def take_work(view: RunView, event: WorkFact) -> RunView:
    """The view after one more fact about a stage or an attempt."""
    match event:
        case ev.StageStarted():
            return _open_stage(view, event)
        case ev.StageFinished():
            return _close_stage(view, event)
        case ev.RolloutFinished():
            return _attempt(view, event)
    assert_never(event)


def _open_stage(view: RunView, event: ev.StageStarted) -> RunView:
    now, size = view.time, (event.total, event.workers)
    stage = StageView(event.step, event.stage, event.label, *size, began=now)
    if event.stage in IN_ROUNDS:
        stage = changed(stage, round=round_of(view, event))
        if (step := view.step_at(event.step)) is not None:
            stage = changed(stage, before=step.tried.get(event.stage, 0))
            view = view.noted(event.step, tries={**step.tries, event.stage: stage.round})
    return changed(
        view,
        at=TESTING if event.stage == "test" else view.at,
        stages=(*(s for s in view.stages if s.key != stage.key), stage),
        rounds=opened(
            view.rounds,
            event,
            closing=_decided(view, event.step),
            training=view.total_steps > 0,
        ),
        looks=view.looks.after(event, now),
        # Outside steps a resumed process begins the same stage again.
        broken={k: n for k, n in view.broken.items() if stage.step or k != stage.key},
    )


def round_of(view: RunView, event: ev.StageStarted) -> int:
    """Which round of the step's verification or check begins, from 1."""
    step = view.step_at(event.step)
    return 1 + (step.tries.get(event.stage, 0) if step else 0)


def _close_stage(view: RunView, event: ev.StageFinished) -> RunView:
    key = (event.step, event.stage, event.label)
    for stage in view.stages:
        if stage.key == key:
            view = _timed(changed(view, waves=(*view.waves, *_wave(view, stage))), stage)
            if stage.stage == "measure":
                view = _measured(view, stage)
            if stage.open_ended and (step := view.step_at(stage.step)) is not None:
                view = view.noted(stage.step, tried={**step.tried, stage.stage: stage.so_far[0]})
    stages = tuple(s for s in view.stages if s.key != key)
    return changed(view, stages=stages, rounds=closed(view.rounds, event))


def _timed(view: RunView, stage: StageView) -> RunView:
    """Count a stage's time for its step, as long as that is not recorded."""
    step = view.step
    if step is None or step.number != stage.step or step.ended is not None:
        return view
    took = step.seconds.get(stage.stage, 0.0) + view.time - stage.began
    return view.noted(step.number, seconds={**step.seconds, stage.stage: took})


def _wave(view: RunView, stage: StageView) -> Iterator[float]:
    """How long attempts made at a time took. None of a stage that overlaps with others."""
    made, limits = stage.done - stage.recalled, view.run.limits if view.run else None
    if made > 0 and stage.stage in ("rollout", "measure") and len(view.stages) == 1:
        wide = min(stage.workers, limits.max_concurrency) if limits else stage.workers
        yield (view.time - stage.began) / math.ceil(made / wide)


def _measured(view: RunView, stage: StageView) -> RunView:
    """Count a measurement for its step or, once that has decided, for the end of its epoch."""
    if not _decided(view, stage.step):
        return view.noted(stage.step, measured=stage.done, recalled=stage.recalled)
    epochs = tuple(
        changed(
            e,
            measured=e.measured + stage.done,
            texts=e.texts + 1,
            recalled=e.recalled + (stage.recalled == stage.done),
        )
        if e.step == stage.step
        else e
        for e in view.epochs
    )
    return changed(view, epochs=epochs)


def _decided(view: RunView, number: int) -> bool:
    """Whether a step has decided, so that what is measured now belongs to its epoch's end."""
    return any(step.number == number and step.decided for step in view.steps)


def _attempt(view: RunView, event: ev.RolloutFinished) -> RunView:
    key = (event.step, event.stage, event.label)
    broken = event.ending == "broken"
    stages = tuple(
        changed(
            s,
            done=s.done + 1,
            recalled=s.recalled + event.recalled,
            broken=s.broken + broken,
            moved=view.time,
            error=event.error if broken else s.error,
        )
        if _belongs(event, s)
        else s
        for s in view.stages
    )
    step = next((s for s in view.steps if s.number == event.step), None) if broken else None
    if step is not None:
        view = view.noted(step.number, broken=step.broken + 1)
    return changed(
        view,
        stages=stages,
        rounds=noted(view.rounds, event),
        made=view.made + (not event.recalled),
        recalled=view.recalled + event.recalled,
        loaded=_loaded(view, event),
        broken={**view.broken, key: _one_more(view, event)} if broken else view.broken,
    )


def _belongs(event: ev.RolloutFinished, stage: StageView) -> bool:
    """Whether an attempt is one of a stage's; a stage without a label has all texts tried in it."""
    same = (event.step, event.stage) == (stage.step, stage.stage)
    return same and stage.label in ("", event.label)


def _loaded(view: RunView, event: ev.RolloutFinished) -> Mapping[bool, int]:
    loaded = event.skill_loaded
    if loaded is None or event.recalled or event.ending == "broken":
        return view.loaded
    return {**view.loaded, loaded: view.loaded.get(loaded, 0) + 1}


def _one_more(view: RunView, event: ev.RolloutFinished) -> dict[str, int]:
    """The broken attempts of an attempt's stage by reason, with this one."""
    known = view.broken.get((event.step, event.stage, event.label), {})
    reason = event.error or "no reason given"
    return {**known, reason: known.get(reason, 0) + 1}
