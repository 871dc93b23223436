"""News for open pages, as server-sent events: that there is something new, never what it is.

The page fetches itself anew then, so that there is one way of drawing it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from skillopt_cli.core.errors import DataError
from skillopt_cli.ui.listing import Row
from skillopt_cli.web.places import Missing
from skillopt_cli.web.runs import Seen
from skillopt_cli.web.site import Site, named

PAUSE = 0.5
"""Seconds between two looks at a run."""
LIST_PAUSE = 2.0
"""Seconds between two looks at all of them, of which there may be hundreds."""
ALIVE = 15.0
"""Seconds after which a silent stream says that it is still there. The page counts on it."""

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


def version_of(seen: Seen) -> str:
    """What is different whenever a run's pages are."""
    return f"{seen.facts}-{int(seen.at_work)}-{int(seen.whole)}"


def of_one(site: Site) -> Endpoint:
    """News of one run, from the version the page shows (`?from=`) on."""

    async def endpoint(request: Request) -> Response:
        name = named(request)
        if not await run_in_threadpool(site.outputs.holds, name):
            raise HTTPException(404)
        return _stream(site, request, lambda: version_of(site.runs.seen(name)))

    return endpoint


def of_all(site: Site) -> Endpoint:
    """News of the list of runs."""

    async def endpoint(request: Request) -> Response:
        return _stream(site, request, lambda: version_of_list(site.runs.rows()), LIST_PAUSE)

    return endpoint


def version_of_list(rows: Sequence[Row]) -> str:
    """What is different whenever the list of runs is."""
    return f"{hash(tuple((r['folder'], r['status'], r['updated']) for r in rows)) & 0xFFFFFFFF:x}"


def _stream(
    site: Site, request: Request, look: Callable[[], str], pause: float = PAUSE
) -> Response:
    return StreamingResponse(
        _news(site, request, look, pause),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _news(
    site: Site, request: Request, look: Callable[[], str], pause: float
) -> AsyncIterator[str]:
    known = request.query_params.get("from", "")
    quiet = 0.0
    while not site.stopping.is_set():
        try:
            now = await run_in_threadpool(look)
        except (Missing, DataError):
            now = "gone"
        if now != known:
            known, quiet = now, 0.0
            yield f"event: changed\ndata: {now}\n\n"
        elif quiet >= ALIVE:
            quiet = 0.0
            yield f"event: alive\ndata: {now}\n\n"
        await _rest(site, pause)
        quiet += pause


async def _rest(site: Site, pause: float) -> None:
    """Sleep, in short stretches, so that a stream never holds up the end of the server."""
    for _ in range(round(pause / PAUSE)):
        if not site.stopping.is_set():
            await asyncio.sleep(PAUSE)
