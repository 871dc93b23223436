"""Carrying out a composed run at the command line: display, Ctrl-C, summary, crash report."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console

from skillopt_cli.backends.doors import Doors
from skillopt_cli.compose.build import Order, composed
from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import Interrupted
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import Session
from skillopt_cli.store.files import EVENTS, FileStore, replace_text
from skillopt_cli.store.journal import Journal
from skillopt_cli.ui.jsonlines import JsonLines
from skillopt_cli.ui.live import LivePanel
from skillopt_cli.ui.plain import PlainLines
from skillopt_cli.ui.summary import summarise
from skillopt_cli.ui.view import RunView, fold

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
        SkillOptError: as `work` does. A folder in which nothing happened yet is removed again.
        Interrupted: the user stopped the run.
    """
    lines = JsonLines(sys.stdout) if as_json else None
    try:
        with _shown(folder, order, lines) as shown, composed(folder, shown) as (session, doors):
            result = asyncio.run(_until_stopped(work(session), doors))
    except Exception as error:
        if not (folder / EVENTS).exists():
            shutil.rmtree(folder, ignore_errors=True)
        elif getattr(error, "exit_code", 1) == 1:
            _report_crash(folder, order, error)
        raise
    finally:
        document = _write_summary(folder)
        if lines is not None and document is not None:
            lines.close(document)
    assert document is not None
    return result, document


def read_view(folder: Path) -> RunView:
    """What the facts of a run folder add up to; empty for a folder without a log."""
    # Reading the log needs no journal, so an in-memory one stands in.
    with Journal(Path(":memory:")) as journal, FileStore(folder, journal) as store:
        return fold(store.facts())


async def _until_stopped(work: Awaitable[T], doors: Doors) -> T:
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
            doors.close(task.cancel)
        else:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        return await task
    except asyncio.CancelledError:
        raise Interrupted("stopped by the user", "skillopt resume takes the run up again") from None
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@contextmanager
def _shown(folder: Path, order: Order, lines: JsonLines | None) -> Iterator[Order]:
    """The order with the displays the configuration asks for."""
    observers = [Subscriber("json lines", lines)] if lines else []
    with ExitStack() as stack:
        style = display_style(order.config, as_json=lines is not None)
        before = read_view(folder)
        if style == "rich":
            panel = stack.enter_context(LivePanel(Console(stderr=True), before))
            observers.append(Subscriber("live panel", panel))
        elif style == "plain":
            observers.append(Subscriber("plain lines", PlainLines(sys.stderr, before)))
        yield replace(order, observers=(*order.observers, *observers))


def display_style(config: RunConfig, *, as_json: bool) -> str:
    """rich, plain or none: as configured, else by whether stderr is a terminal."""
    if config.run.display != "auto":
        return config.run.display
    if as_json:
        return "none"
    return "rich" if sys.stderr.isatty() else "plain"


def _write_summary(folder: Path) -> dict[str, Any] | None:
    if not (folder / EVENTS).exists():
        return None
    document = summarise(read_view(folder))
    replace_text(folder / SUMMARY, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    return document


def _report_crash(folder: Path, order: Order, error: Exception) -> None:
    """Keep the traceback of a bug in the run folder, without any key."""
    text = "".join(traceback.format_exception(error))
    replace_text(folder / "crash.txt", without_secrets(text, order.config, order.environment))


def without_secrets(text: str, config: RunConfig, environment: Mapping[str, str]) -> str:
    """`text` with the values of all variables that are named as keys blanked out."""
    model = config.model
    named = {model.api_key_env, model.optimizer.api_key_env, model.target.api_key_env}
    for name, value in environment.items():
        if name in named or name.endswith(("_API_KEY", "_TOKEN", "_SECRET")):
            text = text.replace(value, "***")
    return text
