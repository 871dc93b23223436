"""The page in place of one that needs all of a log, while that is read."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response

from skillopt_cli.web.context import Page, WebContext
from skillopt_cli.web.runs import RunSnapshot

AGAIN = 1
"""Seconds after which a browser asks again."""


def reading_page(context: WebContext, snapshots: Sequence[RunSnapshot]) -> Response | None:
    """How far the logs of these runs are read; None once all are read to their end.

    A browser replaces it by the page that was asked for, with or without scripts.
    """
    unread = [one for one in snapshots if not one.whole]
    if not unread:
        return None
    answer = context.render(Page("reading.html", {"runs": unread}))
    answer.headers["Refresh"] = str(AGAIN)
    return answer
