"""The control page: the state of a run as its process reports it, and a form per command."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt_cli.compose.privilege import Privilege
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.compose.trust import agree, consent_mark, required, unapproved
from skillopt_cli.config.declarations import live_settings
from skillopt_cli.config.environment import read_environment
from skillopt_cli.control import commands
from skillopt_cli.control.commands import LONGEST, Command, ControlReply
from skillopt_cli.control.server import send
from skillopt_cli.core.errors import ConfigError, NotRunning, SkillOptError, UsageError
from skillopt_cli.runlog.text.control import attempt_words, place_words, status_document
from skillopt_cli.runlog.text.format import state_words
from skillopt_cli.store.layout import CONFIG
from skillopt_cli.web.context import (
    NO_MESSAGE,
    FlashMessage,
    Page,
    WebContext,
    run_name,
    whole_number,
)
from skillopt_cli.web.form import in_fields, in_labels, title_of
from skillopt_cli.web.launcher import launch, refuse_programs
from skillopt_cli.web.pages.run_page import UNREAD, ended, run_page, status_sentence
from skillopt_cli.web.paths import RunName
from skillopt_cli.web.submitted_form import STALE_FORM, SubmittedForm

FLASH = "flash"
"""Parameter of the address: the name of the message to show."""
NOTHING = SubmittedForm({}, genuine=True)


def page(context: WebContext, request: Request) -> Page:
    """The state of a run and its commands."""
    message = context.flash.get(request.query_params.get(FLASH, ""))
    return _page(context, run_name(request), message=message)


def submit(context: WebContext, request: Request, form: SubmittedForm) -> Page | Response:
    """Execute the command of a form; a refused one shows the page with the typed values."""
    name = run_name(request)
    folder = context.outputs.folder(name)
    command: Command | None = None
    try:
        if not form.genuine:
            raise STALE_FORM
        if form["do"] == "take_up":
            lacking = _unapproved(context, folder)
            if form["trust"] != consent_mark(lacking):
                return _with_consent(_page(context, name, form=form), lacking)
            agree(lacking)
            launch(["resume", str(folder), "--display=plain"], folder)
            message = "the run is resumed"
        else:
            command = _command(form)
            message = asyncio.run(send(folder, command)).said
    except SkillOptError as error:
        return _page(context, name, form=form, error=error)
    key = context.flash.add(message, command)
    return RedirectResponse(f"{name.url}/steer?{FLASH}={key}", status_code=303)


def _unapproved(context: WebContext, folder: Path) -> list[Privilege]:
    """What a run asks for that lacks consent; a run that cannot be resumed has its own error.

    Raises:
        UsageError: it starts programs, on a page without a token.
    """
    own = Overrides(config=folder / CONFIG, resumed=True, run_folder=folder)
    environment = read_environment()
    try:
        resolved = settle(own, environment)
    except ConfigError:
        if context.access.token:
            return []
        raise
    if not context.access.token:
        refuse_programs(own, resolved, environment)
    return unapproved(required(own, resolved, environment))


def _with_consent(page: Page, lacking: Sequence[Privilege]) -> Page:
    """The page with a box for the consent to what the run asks for."""
    asked = {"lacking": [one.sentence for one in lacking], "consent": consent_mark(lacking)}
    return replace(page, variables={**page.variables, "to_agree": asked})


def _command(form: SubmittedForm) -> Command:
    match form["do"]:
        case "pause":
            return commands.Pause()
        case "pause_at_edits":
            return commands.Pause("edits")
        case "resume":
            return commands.Resume()
        case "drop_pause":
            return commands.Resume("edits")
        case "stop":
            return commands.Stop()
        case "set":
            return commands.Set(form["key"], form["value"])
        case "veto" if number := whole_number(form["number"]):
            return commands.Veto(number, form["reason"])
        case "allow" if number := whole_number(form["number"]):
            return commands.Allow(number)
        case "hint":
            return commands.Hint(form["text"])
    raise UsageError("a run has no such command", "use the page's own buttons")


def _page(
    context: WebContext,
    name: RunName,
    *,
    message: FlashMessage = NO_MESSAGE,
    form: SubmittedForm = NOTHING,
    error: SkillOptError | None = None,
) -> Page:
    # Requested before the log is read, so that the log contains what the reply confirms.
    live, silent = _status(context.outputs.folder(name))
    snapshot = context.runs.snapshot(name)
    view = snapshot.view
    document = status_document(view, live)
    if live is not None:
        document |= {
            "paused": live.paused,
            "pause_planned": live.planned,
            "stopping": live.stopping,
        }
    made = run_page(
        snapshot,
        "steer.html",
        "Steer",
        at_work=live is not None,
        silent=silent if snapshot.at_work else None,
        resumable=live is None and snapshot.resumable,
        status=_sentence(document) if live or snapshot.whole else UNREAD,
        now=document,
        settable=live_settings(),
        title_of=title_of,
        in_labels=in_labels,
        in_fields=in_fields,
        longest=LONGEST,
        attempts=attempt_words(found) if (found := document["attempts"]) else "",
        ended=ended(view),
        message="" if _outdated(message.command, document) else message.text,
        form=form,
        error=error,
        to_agree={},
    )
    return replace(made, status=200 if error is None else 422)


def _status(folder: Path) -> tuple[ControlReply | None, NotRunning | None]:
    """The reply of the run's process, or the reason why there is none."""
    try:
        return asyncio.run(send(folder, commands.Status())), None
    except NotRunning as error:
        return None, error


def _outdated(command: Command | None, now: dict[str, Any]) -> bool:
    """Whether the confirmation of a command no longer holds.

    The run ended, or the pause that was planned has begun or is cancelled.
    """
    # A run that is resumed is the interrupted one until its new process begins.
    gone = now["status"] == "interrupted" and now["pid"] is None and command is not None
    over = gone or now["status"] not in ("running", "interrupted")
    return over or (command == commands.Pause("edits") and not now["pause_planned"])


def _sentence(now: dict[str, Any]) -> str:
    planned = "; it will pause when the next edits are chosen" if now["pause_planned"] else ""
    ending = "; it is stopping" if now["stopping"] else ""
    state = state_words(now["status"], now["paused"], now["exit_code"])
    sentence = status_sentence(state, place_words(now), now["stages"])
    return sentence + planned + ending
