"""Carrying out a composed run at the command line: display, Ctrl-C, summary, crash report."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console

from skillopt_cli.cli.errors import unusable
from skillopt_cli.compose.build import Order, composed
from skillopt_cli.compose.folder import CRASH
from skillopt_cli.compose.secrets import Secrets
from skillopt_cli.compose.tracking import tracking
from skillopt_cli.control.server import listening
from skillopt_cli.core.errors import Interrupted, SkillOptError
from skillopt_cli.core.events import CONTROL, Degraded
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.controller import Controller
from skillopt_cli.engine.session import Session
from skillopt_cli.plugins import at_fault
from skillopt_cli.ports import Emit
from skillopt_cli.store.files import EVENTS, replace_text
from skillopt_cli.ui.jsonlines import JsonLines
from skillopt_cli.ui.live import LivePanel
from skillopt_cli.ui.plain import PlainLines
from skillopt_cli.ui.reading import read_view
from skillopt_cli.ui.summary import summarise

T = TypeVar("T")
SUMMARY = "summary.json"


def carry_out(
    folder: Path,
    order: Order,
    work: Callable[[Session], Awaitable[T]],
    *,
    as_json: bool,
) -> tuple[T, dict[str, Any]]:
    """Compose a run on `folder`, show it, and do `work`; the summary is written however it ends.

    Raises:
        SkillOptError: as `work` does, without any key in its message. A bug becomes one too: its
            traceback is kept in the run folder.
        Interrupted: the user stopped the run.
    """
    secrets = Secrets.of(order.environment, order.config)
    lines = JsonLines(sys.stdout) if as_json else None
    document: dict[str, Any] = {}
    try:
        trackers = tracking(folder, order)
        with (
            _shown(folder, order, lines) as shown,
            composed(folder, shown.heard_by(trackers.observers)) as (session, control),
        ):
            try:
                place = _Place(folder, control, session.run.emit)
                result = asyncio.run(_until_stopped(work(session), place))
            finally:
                document = _write_summary(folder)
                if document:
                    shows = display_style(order, as_json=as_json) != "none"
                    trackers.close(document, session.run.emit, _aside if shows else _nothing)
                if lines is not None and document:
                    lines.close(document)
    except Interrupted as error:
        raise Interrupted(error.message, _again(folder, order)) from None
    except SkillOptError as error:
        error.message, error.hint = secrets.hide(error.message), secrets.hide(error.hint)
        raise
    # Whatever else is raised is our bug, or a plug-in's, except for a path that cannot be used.
    except Exception as error:
        if isinstance(error, BrokenPipeError) and lines is not None and document:
            raise  # whoever read the lines is gone: the run has ended, and nobody is to be told
        if isinstance(error, OSError) and not (folder / EVENTS).exists():
            raise unusable(error) from None
        raise _crash(folder, secrets, error) from None
    return result, document


def _aside(text: str) -> None:
    typer.echo(text, err=True)


def _nothing(text: str) -> None:
    """Tell nobody."""


def _again(folder: Path, order: Order) -> str:
    if order.skill is not None:
        return "run `skillopt eval` again"
    return f"`skillopt resume {folder}` takes the run up again"


def _crash(folder: Path, secrets: Secrets, error: Exception) -> SkillOptError:
    """Keep the traceback of a bug in the run folder, without any key, and say where it is."""
    text = "".join(traceback.format_exception(error))
    replace_text(folder / CRASH, secrets.hide(text))
    what = secrets.hide(" ".join(f"{type(error).__name__}: {error}".split()))
    culprit = at_fault(error)
    whom = "tell its authors" if culprit else f"report it with the run folder {folder}"
    return SkillOptError(
        f"{culprit} failed: {what}" if culprit else f"internal error: {what}",
        f"{whom}: {folder / CRASH} says where it happened",
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a run can be told something, and by whom it hears of it."""

    folder: Path
    control: Controller
    emit: Emit

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listen for commands; a run whose folder cannot hold a socket goes on without."""
        async with AsyncExitStack() as stack:
            try:
                heard = listening(self.folder, self.control.carry_out)
                await stack.enter_async_context(heard)
            except OSError as error:
                reason = f"`skillopt ctl` cannot reach this run: {error.strerror or error}"
                self.emit(Degraded(CONTROL, reason))
            yield


async def _until_stopped(work: Awaitable[T], place: _Place) -> T:
    """Do `work`; the first Ctrl-C lets calls in flight finish, the second stops at once.

    Raises:
        Interrupted: the user stopped it.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    pressed = 0

    def stop() -> None:
        nonlocal pressed
        pressed += 1
        if pressed == 1:
            typer.echo("stopping: calls in flight may finish; Ctrl-C again stops at once", err=True)
            place.control.stop()
        else:
            task.cancel()

    place.control.ends_by(task.cancel)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        async with place.listening():
            return await task
    except asyncio.CancelledError:
        raise Interrupted("stopped by the user") from None
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@contextmanager
def _shown(folder: Path, order: Order, lines: JsonLines | None) -> Iterator[Order]:
    """The order with the displays the configuration asks for."""
    observers = [Subscriber("json lines", lines)] if lines else []
    with ExitStack() as stack:
        style = display_style(order, as_json=lines is not None)
        before = read_view(folder)
        if style == "rich":
            panel = stack.enter_context(LivePanel(Console(stderr=True), before))
            observers.append(Subscriber("live panel", panel))
        elif style == "plain":
            observers.append(Subscriber("plain lines", PlainLines(sys.stderr, before)))
        yield order.heard_by(observers)


def display_style(order: Order, *, as_json: bool) -> str:
    """rich, plain or none: as configured, else rich on a terminal that can draw, with colours."""
    if order.config.run.display != "auto":
        return order.config.run.display
    if as_json:
        return "none"
    able = order.environment.get("TERM") != "dumb" and "NO_COLOR" not in order.environment
    lively = sys.stderr.isatty() and able
    return "rich" if lively else "plain"


def _write_summary(folder: Path) -> dict[str, Any]:
    """Write `summary.json` from the log; nothing, and an empty one, for a run without facts."""
    if not (folder / EVENTS).exists():
        return {}
    document = summarise(read_view(folder))
    replace_text(folder / SUMMARY, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    return document
