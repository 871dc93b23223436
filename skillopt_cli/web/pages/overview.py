"""One run at a glance, live."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from starlette.requests import Request

from skillopt_cli.ui.ending import (
    metric_label,
    ordered_tests,
    spend_lines,
    status_words,
    trouble_words,
)
from skillopt_cli.ui.limits import cap_words, pace_place, slowed, speed_words
from skillopt_cli.ui.report import Reported, report_document
from skillopt_cli.ui.report.figures import curve
from skillopt_cli.ui.steering import held_words
from skillopt_cli.ui.summary import TESTS
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.words import duration, result_name
from skillopt_cli.web.pages.framed import framed
from skillopt_cli.web.runs import Seen
from skillopt_cli.web.site import Page, Site, named

_TESTS = {label: name for name, label in TESTS.items()}


def page(site: Site, request: Request) -> Page:
    """A run's first page: how it stands, its curve, its scores, its steps."""
    seen = site.runs.seen(named(request))
    view = seen.view
    (document,) = report_document([Reported(seen.name.run_id, view)])["runs"]
    return framed(
        seen,
        "overview.html",
        "Overview",
        view=view,
        status=status_words(view),
        told=standing_words(seen),
        metric=metric_label(view),
        summary=document["summary"],
        steps=document["steps"],
        tests=[(result_name(t.label), _TESTS.get(t.label, t.label)) for t in ordered_tests(view)],
        stages=list(_stages(view)),
        caps=cap_words(view),
        slow=[f"{speed_words(p)}, {pace_place(p)}" for p in slowed(view)]
        if view.ending is None
        else [],
        trouble=trouble_words(view),
        spend=spend_lines(view),
        curve=curve(view),
    )


def standing_words(seen: Seen) -> str:
    """How a run stands, in a sentence for those who listen to the page."""
    view = seen.view
    if view.run is None:
        return "Nothing is known of this run yet."
    where = "" if not view.total_steps else f", {view.done} of {view.total_steps} steps recorded"
    paused = held_words(view.steering.paused) if seen.at_work else ""
    doing = " and ".join(dict.fromkeys(stage.stage.replace("_", " ") for stage in view.stages))
    at_work = f", at work on {doing}" if doing and not view.deserted else ""
    return f"{status_words(view).replace('_', ' ')}{paused}{where}{at_work}"


def _stages(view: RunView) -> Iterator[dict[str, Any]]:
    """The stages at work with how far they are, where that is known."""
    if view.deserted:
        return
    now = time.time()
    for stage in view.stages:
        left = stage.left(now)
        yield {
            "title": stage.stage.replace("_", " ") + (f" ({stage.label})" if stage.label else ""),
            "done": stage.done if stage.attempts else None,
            "total": stage.total,
            "broken": stage.broken,
            "left": "" if left is None else f"about {duration(left)} left",
        }
