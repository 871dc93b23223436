"""Server-sent events for open pages: they announce a change, and the page then reloads itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from skillopt_cli.core.errors import DataError
from skillopt_cli.runlog.text.run_list import Row
from skillopt_cli.web.context import WebContext, run_name
from skillopt_cli.web.paths import NotFound
from skillopt_cli.web.runs import RunSnapshot

PAUSE = 0.5
"""Seconds between two checks of a run."""
LIST_PAUSE = 2.0
"""Seconds between two checks of all runs, of which there may be hundreds."""
ALIVE = 15.0
"""Seconds without a change after which an `alive` event is sent; the script relies on it."""

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


def version_of(snapshot: RunSnapshot) -> str:
    """A version that changes whenever the pages of a run do."""
    return f"{snapshot.facts}-{int(snapshot.at_work)}-{int(snapshot.whole)}"


def run_events(context: WebContext) -> Endpoint:
    """Events of one run since the version that the page shows (`?from=`)."""

    async def endpoint(request: Request) -> Response:
        name = run_name(request)
        if not await run_in_threadpool(context.outputs.holds, name):
            raise HTTPException(404)
        return _stream(context, request, lambda: version_of(context.runs.snapshot(name)))

    return endpoint


def list_events(context: WebContext) -> Endpoint:
    """Events of the list of runs."""

    async def endpoint(request: Request) -> Response:
        return _stream(context, request, lambda: version_of_list(context.runs.rows()), LIST_PAUSE)

    return endpoint


def version_of_list(rows: Sequence[Row]) -> str:
    """A version that changes whenever the list of runs does."""
    shown = tuple((r["folder"], r["status"], r["updated"], r["behind"]) for r in rows)
    return f"{hash(shown) & 0xFFFFFFFF:x}"


def _stream(
    context: WebContext, request: Request, version: Callable[[], str], pause: float = PAUSE
) -> Response:
    return StreamingResponse(
        _events(context, request, version, pause),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(
    context: WebContext, request: Request, version: Callable[[], str], pause: float
) -> AsyncIterator[str]:
    known = request.query_params.get("from", "")
    quiet = 0.0
    end = time.monotonic() + context.stream
    # Ends by itself, so that nobody who has left, or never reads, occupies a connection for ever.
    while not context.stopping.is_set() and time.monotonic() < end:
        try:
            now = await run_in_threadpool(version)
        except (NotFound, DataError):
            now = "gone"
        if now != known:
            known, quiet = now, 0.0
            yield f"event: changed\ndata: {now}\n\n"
        elif quiet >= ALIVE:
            quiet = 0.0
            yield f"event: alive\ndata: {now}\n\n"
        # Short sleeps, so that no stream delays the end of the server.
        for _ in range(round(pause / PAUSE)):
            if not context.stopping.is_set():
                await asyncio.sleep(PAUSE)
        quiet += pause
