"""The web application: routes, static files, error pages and the thread that reads logs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from skillopt_cli.charts.svg import style
from skillopt_cli.core.errors import SkillOptError, UsageError
from skillopt_cli.web import control, live, start_run
from skillopt_cli.web.connections import LIMITS
from skillopt_cli.web.context import ASSETS, ECHARTS, Page, WebContext, run_name
from skillopt_cli.web.form import first_fields, own_fields
from skillopt_cli.web.pages import (
    attempts,
    compare,
    downloads,
    index,
    notes,
    overview,
    settings,
    skills,
    spend,
    steps,
    sweeps,
    tasks,
)
from skillopt_cli.web.paths import NotFound
from skillopt_cli.web.runs import PATIENCE
from skillopt_cli.web.security import Access, AccessMiddleware
from skillopt_cli.web.submitted_form import SubmittedForm, read_form

RUN = "/runs/{benchmark}/{run}"
NO_PAGE = UsageError("there is no such page", "runs are listed on the first page")
NO_RUN = UsageError(
    "there is no such run",
    "its folder may have been moved or removed; runs are listed on the first page",
)

PageBuilder = Callable[[WebContext, Request], Page | Response]
FormHandler = Callable[[WebContext, Request, SubmittedForm], Page | Response]
PICTURES = "pictures.css"
"""Style sheet of the charts, which generate it."""
KINDS = {
    "app.js": "text/javascript",
    "charts.js": "text/javascript",
    ECHARTS: "text/javascript",
    "LICENSES.txt": "text/plain",
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
    PICTURES: "text/css",
}
"""All files and their media types."""


def application(
    root: Path,
    access: Access,
    opened: Callable[[], None] = lambda: None,
    *,
    patience: float = PATIENCE,
    stream: float = LIMITS.stream,
) -> Starlette:
    """The web application of an outputs folder.

    Args:
        root: the outputs folder; nothing outside of it is read.
        opened: called when a link was used, which then has another code.
        patience: seconds a page may spend on reading logs.
        stream: seconds that an event stream lasts.
    """
    context = WebContext.of(root, access, patience, stream)
    # Built at the start, so that the first visit to the form is fast.
    own_fields()
    first_fields()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(context.runs.read_pending))
            try:
                yield
            finally:
                context.runs.close()

    app = Starlette(
        routes=_routes(context),
        middleware=[Middleware(AccessMiddleware, access=access, opened=opened)],
        exception_handlers={
            HTTPException: lambda _, error: context.render(_error_page(NO_PAGE, error.status_code)),
        },
        lifespan=lifespan,
    )
    app.state.stopping = context.stopping
    return app


def _routes(context: WebContext) -> list[Route]:
    def page(path: str, build: PageBuilder) -> Route:
        async def endpoint(request: Request) -> Response:
            def built() -> Page | Response:
                with context.runs.page():
                    return build(context, request)

            return await run_in_threadpool(_response, context, request, built)

        return Route(path, endpoint, methods=["GET"])

    def form(path: str, handle: FormHandler) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                sent = await read_form(request, context.form_token)
            except UsageError as error:
                return context.render(_error_page(error))
            handled = partial(handle, context, request, sent)
            return await run_in_threadpool(_response, context, request, handled)

        return Route(path, endpoint, methods=["POST"])

    return [
        page("/", index.page),
        page("/compare", compare.page),
        page("/new", start_run.page),
        form("/new", start_run.submit),
        page("/sweeps", sweeps.page),
        page("/sweeps/{sweep}", sweeps.sweep),
        page(RUN, overview.page),
        form(f"{RUN}/notes", notes.submit),
        page(f"{RUN}/steer", control.page),
        form(f"{RUN}/steer", control.submit),
        page(f"{RUN}/steps/{{step}}", steps.page),
        page(f"{RUN}/epochs", steps.epochs),
        page(f"{RUN}/tasks", tasks.page),
        page(f"{RUN}/attempts", attempts.page),
        page(f"{RUN}/skills", skills.page),
        page(f"{RUN}/spend", spend.page),
        page(f"{RUN}/settings", settings.page),
        page(f"{RUN}/export/{{file}}", downloads.page),
        Route("/live", live.list_events(context)),
        Route(f"{RUN}/live", live.run_events(context)),
        Route("/assets/{name}", asset),
    ]


def _response(
    context: WebContext, request: Request, build: Callable[[], Page | Response]
) -> Response:
    try:
        built = build()
        return context.render(built) if isinstance(built, Page) else built
    except NotFound:
        return context.render(_not_found_page(context, request))
    except SkillOptError as error:
        return context.render(_error_page(error))


def _error_page(error: SkillOptError, status: int = 422) -> Page:
    return Page("error.html", {"message": error.message, "hint": error.hint}, status)


def _not_found_page(context: WebContext, request: Request) -> Page:
    if "run" not in request.path_params or context.outputs.holds(run_name(request)):
        return _error_page(NO_PAGE, 404)
    return _error_page(NO_RUN, 404)


async def asset(request: Request) -> Response:
    """Serve one of the files; other names are refused without a look at the disk."""
    name = request.path_params["name"]
    if name not in KINDS:
        raise HTTPException(404)
    body = style().encode() if name == PICTURES else ASSETS.joinpath(name).read_bytes()
    # Revalidated each time, so that a new version of the program never uses old files; the name of
    # a library holds its version.
    caching = "max-age=31536000, immutable" if name == ECHARTS else "no-cache"
    return Response(body, media_type=KINDS[name], headers={"Cache-Control": caching})
