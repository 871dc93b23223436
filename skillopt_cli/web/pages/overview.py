"""The overview of a run: status, curve, scores, steps and spend, updated live."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request

from skillopt_cli.compose.eval_plan import read_evaluation
from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.reports.evaluation import evaluation_blocks, pruned_blocks
from skillopt_cli.reports.page import Block
from skillopt_cli.reports.run.document import step_document
from skillopt_cli.reports.run.figures import curve
from skillopt_cli.reports.run.html import parts_of
from skillopt_cli.reports.split_ledger import ledger_blocks, split_ledger
from skillopt_cli.runlog.costs import Document
from skillopt_cli.runlog.result_hints import result_hints
from skillopt_cli.runlog.schedule_file import read_schedule
from skillopt_cli.runlog.summary import TESTS
from skillopt_cli.runlog.text.control import place_words, status_document
from skillopt_cli.runlog.text.ending import (
    metric_label,
    notice_words,
    ordered_tests,
    status_words,
    trouble_words,
)
from skillopt_cli.runlog.text.format import duration, plain_words, result_name, state_words
from skillopt_cli.runlog.text.header import data_words, simulated_note
from skillopt_cli.runlog.text.limits import cap_words, pace_place, slowed, speed_words
from skillopt_cli.runlog.text.remaining import run_left
from skillopt_cli.runlog.text.spend import money_words, spend_words
from skillopt_cli.runlog.text.unfinished import (
    resume_command,
    unfinished_words,
    unrecorded_words,
)
from skillopt_cli.runlog.text.verdict import verdict_title
from skillopt_cli.runlog.verdict import is_compared, no_gain_words, verdict_of
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import EVALUATION
from skillopt_cli.web.chart_options import score_chart
from skillopt_cli.web.context import Page, WebContext, run_name
from skillopt_cli.web.form import is_decided
from skillopt_cli.web.listing import part_of
from skillopt_cli.web.pages.run_page import UNREAD, ended, run_page, status_sentence
from skillopt_cli.web.pages.settings import setting_rows, stored_settings
from skillopt_cli.web.paths import NotFound, RunName
from skillopt_cli.web.run_notes import LONGEST_NOTE, RunNotes, read_notes
from skillopt_cli.web.runs import RunSnapshot
from skillopt_cli.web.submitted_form import SubmittedForm

MOST_DRAWN = 200
"""Steps of a score curve for browsers without script; a longer one would be most of the page."""
_TESTS = {label: name for name, label in TESTS.items()}


def page(context: WebContext, request: Request) -> Page:
    """The first page of a run."""
    return overview(context, run_name(request), request.query_params)


def overview(
    context: WebContext,
    name: RunName,
    query: QueryParams,
    typed: SubmittedForm | None = None,
    error: SkillOptError | None = None,
) -> Page:
    """The same after the form of the notes was refused, with what was typed and why.

    Raises:
        NotFound: there is no such run.
        DataError: its log cannot be read.
    """
    snapshot = context.runs.snapshot(name)
    view = snapshot.view
    ledger = split_ledger(snapshot.folder)
    steps = part_of(view.steps[::-1], snapshot.name.url, query, "steps")
    trained = view.baseline is not None and view.total_steps > 0
    notes = read_notes(snapshot.folder)
    settings, _ = setting_rows(context, snapshot)
    values, _ = stored_settings(context, snapshot)
    made = run_page(
        snapshot,
        "overview.html",
        "Overview",
        view=view,
        sentence=(unfinished := snapshot.whole and unfinished_words(view)) or _sentence(snapshot),
        unfinished=unfinished,
        command=resume_command(view, str(snapshot.folder.absolute())) if snapshot.whole else "",
        resumable=snapshot.resumable,
        ended=ended(view),
        metric=metric_label(view),
        summary=snapshot.summary,
        steps=[step_document(step) for step in steps.rows],
        unrecorded={step.number: unrecorded_words(view, step) for step in steps.rows},
        part=steps,
        ends={epoch.step: epoch for epoch in view.epochs if epoch.guided},
        tests=[(result_name(t.label), _TESTS.get(t.label, t.label)) for t in ordered_tests(view)],
        stages=list(_stages(view)) if snapshot.whole or snapshot.at_work else [],
        caps=cap_words(view),
        slow=[f"{speed_words(p)}, {pace_place(p)}" for p in slowed(view)]
        if view.ending is None
        else [],
        trouble=trouble_words(view),
        notice=notice_words(view),
        simulated=simulated_note(view.run) if view.run else "",
        verdict=_verdict(view),
        compared=is_compared(view),
        money=money_words(view.spent) or "$0.00",
        roles=[(role, spend_words(view.spent_by(role))) for role in view.roles],
        left=run_left(view, time.time(), read_schedule(snapshot.folder))
        if view.total_steps and snapshot.at_work and snapshot.whole
        else "",
        chart=score_chart(view) if trained else None,
        curve=curve(view) if trained and len(view.steps) <= MOST_DRAWN else None,
        about=_about(view),
        changed=_by_origin(r for r in settings if r["set"] and not is_decided(r["key"])),
        solved_left_out=values.get("optimizer.rerun_solved", 1) != 1,
        looks=list(parts_of(ledger_blocks(ledger, whole=True))) if ledger.own else [],
        found=list(parts_of(_found(context, snapshot))),
        notes=notes,
        typed={"note": typed["note"], "tags": typed["tags"]} if typed else _typed(notes),
        longest=LONGEST_NOTE,
        error=error,
    )
    return made if error is None else replace(made, status=422)


def _by_origin(rows: Iterable[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The settings that are not at the default: those of the user, then those of presets.

    A preset, and the file with a benchmark's defaults, come with the program.
    """
    found: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    for row in rows:
        found[_is_provided(row["source"])].append(row)
    parts = (("set by you", found[False]), ("set by the preset or benchmark", found[True]))
    return [(title, chosen) for title, chosen in parts if chosen]


def _is_provided(source: str) -> bool:
    return source.startswith(("preset ", "configs/"))


def _typed(notes: RunNotes) -> dict[str, str]:
    return {"note": notes.note, "tags": " ".join(notes.tags)}


def _verdict(view: RunView) -> dict[str, Any] | None:
    """The verdict in words, and how to go on; None before the end and for an evaluation."""
    found = verdict_of(view)
    if found is None:
        return None
    sentences = list(found.sentences)
    if why := no_gain_words(view):
        sentences.append(f"{why}.")
    title, style = verdict_title(found.word, view.majority)
    unchanged = bool(found.reason) or (found.evidence is not None and found.evidence.identical)
    if unchanged:
        # The seed is not to be proven better than itself.
        why = "no edit was accepted" if found.reason else "the best skill is the seed"
        title, style = f"Unchanged: {why}", ""
    return {
        "title": title,
        "style": style,
        "sentences": sentences,
        "hints": result_hints(view),
        "unchanged": unchanged,
    }


def _about(view: RunView) -> list[tuple[str, str]]:
    """The models, the data and the metric of a run."""
    run = view.run
    if run is None:
        return []
    models = [("target", run.target), ("optimizer", run.optimizer if view.total_steps else "")]
    models += [("judge", run.judge), ("metric", run.metric), ("data", data_words(run))]
    return [(title, value) for title, value in models if value]


def _found(context: WebContext, snapshot: RunSnapshot) -> Iterator[Block]:
    """What pruning removed, and the result of an evaluation."""
    yield from pruned_blocks(snapshot.view.pruned)
    if (found := evaluation(context, snapshot.name)) is not None:
        yield from evaluation_blocks(found)


def evaluation(context: WebContext, name: RunName) -> Document | None:
    """The result of an evaluation; None for a training, and before the end.

    Raises:
        DataError: it cannot be read.
    """
    try:
        return read_evaluation(context.outputs.file(name, EVALUATION).parent)
    except NotFound:
        return None


def _sentence(snapshot: RunSnapshot) -> str:
    view = snapshot.view
    if not snapshot.whole and not snapshot.at_work:
        return UNREAD
    if view.run is None:
        return "There is no data about this run yet."
    place = place_words(status_document(view, None))
    stages = () if view.deserted else [stage.stage for stage in view.stages]
    paused = view.steering_now.paused
    state = state_words("", paused) if paused else status_words(view)
    return status_sentence(state, place, stages)


def _stages(view: RunView) -> Iterator[dict[str, Any]]:
    """The running stages, with their progress where it is known."""
    if view.deserted or view.ending is not None:
        return
    now = time.time()
    for stage in view.stages:
        left = stage.left(now)
        done, total = stage.so_far
        yield {
            "title": plain_words(stage.stage)
            + (f" {stage.round}" if stage.round else "")
            + (f" ({stage.label})" if stage.label else ""),
            "done": done if stage.attempts else None,
            "total": total,
            "bar": not stage.open_ended,
            "broken": stage.broken,
            "left": "" if left is None else f"about {duration(left)} left",
        }
