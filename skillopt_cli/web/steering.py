"""Telling a run what to do: how it stands by its own word, and a form for each command."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt_cli.control import client
from skillopt_cli.control.commands import LONGEST, Answer
from skillopt_cli.core.errors import NotRunning, SkillOptError, UsageError
from skillopt_cli.core.events import RunFinished
from skillopt_cli.engine.controller import SETTABLE
from skillopt_cli.ui.steering import held_words, status_document
from skillopt_cli.ui.view import RunView
from skillopt_cli.web.launching import launch
from skillopt_cli.web.pages.framed import framed
from skillopt_cli.web.places import Named
from skillopt_cli.web.posting import STALE, Posted
from skillopt_cli.web.site import Page, Site, named, whole_number

TOLD = "told"
"""Of an address: which answer of a run the page shows."""
NOTHING = Posted({}, genuine=True)


def page(site: Site, request: Request) -> Page:
    """How a run stands, and what it may be told."""
    said = site.told.get(request.query_params.get(TOLD, ""))
    return _page(site, named(request), said=said)


def act(site: Site, request: Request, form: Posted) -> Page | Response:
    """Do what a form asks of a run; a refusal shows the page with what was typed."""
    name = named(request)
    folder = site.outputs.folder(name)
    try:
        if not form.genuine:
            raise STALE
        if form["do"] == "take_up":
            launch(["resume", str(folder), "--display=plain"], folder)
            said = "the run is taken up"
        else:
            said = asyncio.run(_command(folder, form)).said
    except SkillOptError as error:
        return _page(site, name, form=form, error=error)
    key = site.told.keep(said)
    return RedirectResponse(f"{name.url}/steer?{TOLD}={key}", status_code=303)


def _command(folder: Path, form: Posted) -> Coroutine[Any, Any, Answer]:
    match form["do"]:
        case "pause":
            return client.pause(folder)
        case "pause_at_edits":
            return client.pause(folder, "edits")
        case "resume":
            return client.resume(folder)
        case "drop_pause":
            return client.resume(folder, "edits")
        case "stop":
            return client.stop(folder)
        case "set":
            return client.change(folder, form["key"], form["value"])
        case "veto" if number := whole_number(form["number"]):
            return client.veto(folder, number, form["reason"])
        case "hint":
            return client.hint(folder, form["text"])
    raise UsageError("a run cannot be told that", "use the page's own buttons")


def _page(
    site: Site,
    name: Named,
    *,
    said: str = "",
    form: Posted = NOTHING,
    error: SkillOptError | None = None,
) -> Page:
    # Asked before its log is read: what it has answered stands there then.
    live, silent = _asked(site.outputs.folder(name))
    seen = site.runs.seen(name)
    document = status_document(seen.view, live)
    if live is not None:
        document |= {
            "paused": live.paused,
            "pause_planned": live.planned,
            "stopping": live.stopping,
        }
    given = framed(
        seen,
        "steer.html",
        "Steer",
        at_work=live is not None,
        silent=silent if seen.at_work else None,
        resumable=live is None and not seen.at_work and _is_unfinished(seen.view),
        stands=_words(document),
        now=document,
        settable=SETTABLE,
        longest=LONGEST,
        said=said,
        form=form,
        error=error,
    )
    return Page(given.template, given.given, 200 if error is None else 422)


def _asked(folder: Path) -> tuple[Answer | None, NotRunning | None]:
    """What the run itself answers; why it does not."""
    try:
        return asyncio.run(client.status(folder)), None
    except NotRunning as error:
        return None, error


def _is_unfinished(view: RunView) -> bool:
    """Whether there is something left to take up; an evaluation is made anew."""
    return view.total_steps > 0 and not isinstance(view.ending, RunFinished)


def _words(now: dict[str, Any]) -> str:
    """How a run stands, in a sentence for those who listen to the page."""
    held = held_words(now["paused"])
    place = f", step {now['step']} of {now['planned_steps']}" if now["planned_steps"] else ""
    doing = " and ".join(dict.fromkeys(stage.replace("_", " ") for stage in now["stages"]))
    planned = "; it will pause when the next edits are chosen" if now["pause_planned"] else ""
    ending = "; it is stopping" if now["stopping"] else ""
    status = str(now["status"]).replace("_", " ")
    return f"{status}{held}{place}{f', at work on {doing}' if doing else ''}{planned}{ending}"
