"""The application: addresses, and what is answered when something is wrong."""

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

from skillopt_cli.core.errors import SkillOptError, UsageError
from skillopt_cli.web import live, serving, starting, steering
from skillopt_cli.web.form import first_fields
from skillopt_cli.web.pages import (
    attempts,
    compare,
    epochs,
    index,
    overview,
    settings,
    skills,
    spend,
    steps,
    tasks,
)
from skillopt_cli.web.places import Missing, Outputs
from skillopt_cli.web.posting import Posted, posted
from skillopt_cli.web.runs import PATIENCE
from skillopt_cli.web.security import Access, Guard
from skillopt_cli.web.site import Page, Site, named

RUN = "/runs/{benchmark}/{run}"

Make = Callable[[Site, Request], Page | Response]
Act = Callable[[Site, Request, Posted], Page | Response]


def application(root: Path, access: Access, patience: float = PATIENCE) -> Starlette:
    """The web page of an outputs folder.

    Args:
        root: the outputs folder; nothing outside of it is read.
        patience: seconds a page may spend on reading logs.
    """
    site = Site.on(Outputs(root), access, patience)
    # Made now, so that whoever opens the form first does not wait for it.
    first_fields()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(site.runs.read_on))
            try:
                yield
            finally:
                site.runs.close()

    app = Starlette(
        routes=_routes(site),
        middleware=[Middleware(Guard, access=access)],
        exception_handlers={
            HTTPException: lambda _, error: site.answer(_not_found(error.status_code)),
        },
        lifespan=lifespan,
    )
    app.state.stopping = site.stopping
    return app


def _routes(site: Site) -> list[Route]:
    def page(path: str, make: Make) -> Route:
        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(_shown, site, make, request)

        return Route(path, endpoint, methods=["GET"])

    def form(path: str, act: Act) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                sent = await posted(site, request)
            except UsageError as error:
                return site.answer(_told(error))
            made = partial(_acted, act, sent)
            return await run_in_threadpool(_made, site, made, request)

        return Route(path, endpoint, methods=["POST"])

    return [
        page("/", index.page),
        page("/compare", compare.page),
        page("/new", starting.page),
        form("/new", starting.act),
        page(RUN, overview.page),
        page(f"{RUN}/steer", steering.page),
        form(f"{RUN}/steer", steering.act),
        page(f"{RUN}/steps/{{step}}", steps.page),
        page(f"{RUN}/tasks", tasks.page),
        page(f"{RUN}/attempts", attempts.page),
        page(f"{RUN}/skills", skills.page),
        page(f"{RUN}/epochs", epochs.page),
        page(f"{RUN}/spend", spend.page),
        page(f"{RUN}/settings", settings.page),
        Route("/live", live.of_all(site)),
        Route(f"{RUN}/live", live.of_one(site)),
        Route("/assets/{name}", serving.asset),
    ]


def _acted(act: Act, form: Posted, site: Site, request: Request) -> Page | Response:
    return act(site, request, form)


def _shown(site: Site, make: Make, request: Request) -> Response:
    with site.runs.page():
        return _made(site, make, request)


def _made(site: Site, make: Make, request: Request) -> Response:
    try:
        made = make(site, request)
        return site.answer(made) if isinstance(made, Page) else made
    except Missing:
        return site.answer(_missing(site, request))
    except SkillOptError as error:
        return site.answer(_told(error))


def _told(error: SkillOptError) -> Page:
    return Page("error.html", {"message": error.message, "hint": error.hint}, 422)


def _missing(site: Site, request: Request) -> Page:
    if "run" not in request.path_params or site.outputs.holds(named(request)):
        return _not_found()
    hint = "its folder may have been moved or removed; runs are listed on the first page"
    return Page("error.html", {"message": "there is no such run", "hint": hint}, 404)


def _not_found(status: int = 404) -> Page:
    hint = "runs are listed on the first page"
    return Page("error.html", {"message": "there is no such page", "hint": hint}, status)
