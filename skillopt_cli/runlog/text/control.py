"""Control of a run in words: what a person asked of it, and its state."""

from __future__ import annotations

import shlex
from typing import Any, assert_never

from skillopt_cli.control.commands import ControlReply
from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit
from skillopt_cli.core.steering import vetoed_among
from skillopt_cli.runlog.event_groups import ControlFact
from skillopt_cli.runlog.summary import status
from skillopt_cli.runlog.text.edit import edit_words, ground_line, ground_words
from skillopt_cli.runlog.text.format import one_line, plain_words, state_words
from skillopt_cli.runlog.text.step import most_edits
from skillopt_cli.runlog.text.unfinished import can_resume
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import SUMMARY_SCHEMA


def ctl_command(view: RunView, command: str) -> str:
    """The shell command that gives a run a control command, with the run's id where it is known."""
    run = shlex.quote(one_line(view.run.run_id)) if view.run is not None else "RUN"
    return f"skillopt ctl {run} {command}"


def control_lines(event: ControlFact, view: RunView) -> tuple[str, ...]:
    """The line for a fact about control of the run of `view`."""
    match event:
        case ev.PausePlanned():
            text = "will pause when edits are chosen"
        case ev.PauseDropped():
            text = "the planned pause is cancelled"
        case ev.RunPaused():
            vetoes = ", edits can be vetoed now" if event.at == "edits" else ""
            text = f"paused{vetoes}; `{ctl_command(view, 'resume')}` goes on"
        case ev.RunContinued():
            text = "resumed"
        case ev.StopRequested():
            text = "stopping, calls in flight may finish"
        case ev.SettingChanged():
            text = f"{event.key} {_limit(event.before)} -> {_limit(event.value)}"
        case ev.EditVetoed():
            why = f" ({one_line(event.reason)})" if event.reason else ""
            text = (
                f"veto of edit {event.number} of step {event.step}: {edit_words(event.edit)}{why}"
            )
        case ev.VetoDropped():
            text = (
                f"the veto of edit {event.number} of step {event.step} is taken back:"
                f" {edit_words(event.edit)}"
            )
        case ev.HintGiven():
            text = f"hint for step {event.step}: {one_line(event.text)}"
        case _:
            assert_never(event)
    return (f"Control: {text}",)


def unused_hints_words(view: RunView) -> str:
    """That hints were read by no reflection, once the run's last process is gone; else empty.

    `the hint for step 3 was not used: no reflection read it`
    """
    if view.ending is None and not view.deserted:
        return ""
    unused = [hint.step for hint in view.steering.hints if not _reflected(view, hint.step)]
    if not unused:
        return ""
    several = unused[1:]
    what = f"{len(unused)} hints were" if several else f"the hint for step {unused[0]} was"
    it = "them" if several else "it"
    if can_resume(view) and min(unused) > view.done:
        return f"{what} not used yet: a resume of the run reads {it}"
    return f"{what} not used: no reflection read {it}"


def _reflected(view: RunView, number: int) -> bool:
    """Whether a step's reflection asked the optimizer about at least one minibatch."""
    step = view.step_at(number)
    return step is not None and step.proposed is not None and step.proposed.asked > 0


def status_document(view: RunView, live: ControlReply | None) -> dict[str, Any]:
    """The state of a run for `skillopt ctl`: its facts, and what only its process knows.

    Args:
        live: the answer of the process at work; None where there is none, and then `pid` and what
            is in flight are None. `attempts` are those of the stages at work, None where there is
            no such stage: the calls of a program that brings its own model are not seen.
            `most_edits` is how many of the `edits` may stay, where those are more.
    """
    steering, state = view.steering_now, status(view)
    # Of a run that is not at work only what is recorded counts: it does the rest again.
    step = view.working if state == "running" else None
    # Edits wait between stages: while one is at work, they are tried or are of an earlier round.
    held = steering.paused is not None and not view.stages
    waiting = held and step is not None and step.candidate is None
    chosen = step.chosen if waiting and step else None
    edits = chosen.chosen if chosen else ()
    vetoes = steering.vetoes_at(chosen.step, chosen.round) if chosen else ()
    vetoed = {number: veto.reason for number, veto in vetoed_among(edits, vetoes).items()}
    limits, most = view.run.limits if view.run else None, most_edits(step)
    return {
        "schema": SUMMARY_SCHEMA,
        "run_id": view.run.run_id if view.run else None,
        "status": state,
        "exit_code": view.ending.exit_code if view.ending else None,
        "pid": live.pid if live else None,
        "step": view.done if step is None else step.number,
        "steps_recorded": view.done,
        "planned_steps": view.total_steps,
        "stages": [stage.stage for stage in view.stages],
        "paused": steering.paused,
        "pause_planned": steering.planned,
        "stopping": steering.stopping,
        "in_flight": live.in_flight if live else None,
        "attempts": _attempts(view) if live else None,
        "max_concurrency": (
            live.max_concurrency if live else limits.max_concurrency if limits else None
        ),
        "caps": live.caps if live else dict(limits.caps) if limits else {},
        "most_edits": most if most is not None and most < len(edits) else None,
        "edits": [_edit(n, edit, vetoed) for n, edit in enumerate(edits, 1)],
        "hints": [{"step": hint.step, "text": hint.text} for hint in steering.hints],
    }


def _attempts(view: RunView) -> dict[str, int] | None:
    stages = [stage for stage in view.stages if stage.attempts]
    if not stages:
        return None
    return {
        "ended": sum(stage.so_far[0] for stage in stages),
        "total": sum(stage.so_far[1] for stage in stages),
        "in_flight_at_most": sum(stage.in_flight for stage in stages),
    }


def attempt_words(attempts: dict[str, int]) -> str:
    """How many attempts of the stages at work have ended, and how many are under way."""
    ended = f"{attempts['ended']} of {attempts['total']} ended"
    return f"{ended}, at most {attempts['in_flight_at_most']} in flight"


def _edit(number: int, edit: Edit, vetoed: dict[int, str]) -> dict[str, Any]:
    words = edit_words(edit, 200)
    return {
        "number": number,
        "words": words,
        "ground": ground_words(edit),
        **edit.record,
        "vetoed": number in vetoed,
        "reason": vetoed.get(number, ""),
    }


def place_words(document: dict[str, Any]) -> str:
    """What follows a run's status: the step it works on, or how many are recorded."""
    step, recorded = document["step"], document["steps_recorded"]
    planned = document["planned_steps"]
    if not planned:
        return ""
    if document["status"] == "running" and step > recorded:
        return f", step {step} of {planned}"
    return f", {recorded} of {planned} steps recorded"


def status_lines(document: dict[str, Any]) -> tuple[str, ...]:
    """The same for people."""
    paused, place = document["paused"], place_words(document)
    stages = plain_words(f", {' and '.join(document['stages'])}") if document["stages"] else ""
    flight = document["in_flight"]
    state = state_words(document["status"], paused, document["exit_code"])
    lines = [f"{document['run_id']}: {state}{place}{stages}"]
    if document["stopping"] and flight is not None:
        lines.append("stopping")
    if document["pause_planned"]:
        lines.append("will pause when edits are chosen")
    if attempts := document["attempts"]:
        lines.append(f"attempts: {attempt_words(attempts)}")
    if flight is not None:
        at_most = document["max_concurrency"]
        lines.append(f"calls in flight: {flight}, at most {at_most} per provider")
        lines += [f"cap: {name} {limit:.10g}" for name, limit in document["caps"].items()]
    if most := document["most_edits"]:
        lines.append(f"of the edits {most} may stay once they are tried")
    for edit in document["edits"]:
        mark = " (vetoed)" if edit["vetoed"] else ""
        lines.append(f"edit {edit['number']}{mark}: {edit['words']}")
        lines.append(f"  {ground_line(edit['ground'], edit.get('tasks', ()))}")
    lines += [f"hint for step {h['step']}: {one_line(h['text'])}" for h in document["hints"]]
    return tuple(lines)


def _limit(value: float | None) -> str:
    return "none" if value is None else f"{value:.10g}"
