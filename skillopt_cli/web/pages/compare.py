"""Runs on the same tasks, side by side."""

from __future__ import annotations

from starlette.requests import Request

from skillopt_cli.core.errors import UsageError
from skillopt_cli.ui.report import Reported, apart, labels_of, side_by_side
from skillopt_cli.web.places import Missing, Named
from skillopt_cli.web.site import Page, Site

MOST = 8
"""Runs on one page."""


def page(site: Site, request: Request) -> Page:
    """Scores, decisions and differing settings of the runs named by `?run=BENCHMARK/ID`."""
    keys = list(dict.fromkeys(request.query_params.getlist("run")))
    if not 2 <= len(keys) <= MOST:
        raise UsageError(f"{len(keys)} runs are ticked", f"tick two to {MOST} in the list of runs")
    seen = [site.runs.seen(_name(key)) for key in keys]
    if unread := [one for one in seen if not one.whole]:
        raise UsageError(
            f"the log of {unread[0].name.key} is still being read", "try again in a moment"
        )
    folders = [one.folder for one in seen]
    labels = labels_of(folders)
    reported = [Reported(label, one.view) for label, one in zip(labels, seen, strict=True)]
    told = side_by_side(reported, apart(labels, folders), illustrated=True)
    # The first heading is the page's.
    blocks = list(told)[1:]
    return Page("compare.html", {"names": [one.name for one in seen], "blocks": blocks})


def _name(key: str) -> Named:
    benchmark, slash, run = key.partition("/")
    if not slash:
        raise Missing
    return Named(benchmark, run)
