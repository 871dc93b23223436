"""Executes a run at the command line: displays, Ctrl-C, JSON lines."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import typer

from skillopt_cli.compose.build import open_session
from skillopt_cli.compose.execution import OpenRun, open_run
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.own_tasks import inferred_line
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.roles import players_of
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.compose.stop_signals import counted, handled_signals
from skillopt_cli.compose.unused_settings import unused_note
from skillopt_cli.config import RunConfig
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import Session
from skillopt_cli.planning.call_costs import long_skill_words, skill_chars
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.text.header import simulated_note
from skillopt_cli.ui.display import open_display
from skillopt_cli.ui.json_lines import JsonLines

T = TypeVar("T")


def execute(
    folder: Path,
    request: RunRequest,
    work: Callable[[Session], Awaitable[T]],
    *,
    as_json: bool,
) -> tuple[T, dict[str, Any]]:
    """Open a run on `folder`, display it and await `work`; its result, and the run's summary.

    Raises:
        SkillOptError: as `open_run` does.
        Interrupted: the user stopped the run.
    """
    lines = JsonLines(sys.stdout) if as_json else None
    style = display_style(request, as_json=as_json)
    run = None
    log = (request.log or RunLog(folder)).read()
    cut = request.measured != "all"
    line = inferred_line(request.config, request.sources, request.unused, cut=cut)
    if line and style != "none":
        _notify(in_shell(line))
    verbose, planned = request.config.run.verbose, request.schedule
    with open_display(log.view, style, verbose=verbose, schedule=planned) as observers:
        first = [Subscriber("json lines", lines)] if lines else []
        request = replace(request, log=log).with_observers([*first, *observers])
        try:
            with open_run(folder, request, _ignore if style == "none" else _notify) as run:
                result = asyncio.run(_stopped_by_signals(run, work))
        finally:
            if lines is not None and run is not None and run.summary:
                lines.close(run.summary)
    # Without a display too nobody may take such scores for a model's.
    started = log.view.run if style == "none" else None
    if started is not None and (note := simulated_note(started)):
        _notify(f"Note: {note}")
    return result, run.summary


def nothing_to_do(folder: Path, request: RunRequest) -> None:
    """Print that a run is finished; its calls are recorded from its journal if that is asked for.

    Raises:
        SkillOptError: as `open_session` does; no model is called, and no key needed.
    """
    _notify(f"{folder} is finished: nothing to do")
    if request.record is not None:
        with open_session(folder, replace(request, calls=False)):
            _notify(f"{request.record} is written from its journal")


async def _stopped_by_signals(run: OpenRun, work: Callable[[Session], Awaitable[T]]) -> T:
    """Await `work`; the first signal lets calls in flight finish, the second stops at once.

    Raises:
        Interrupted: the user stopped it.
    """
    asked = 0

    def stop(number: int) -> None:
        nonlocal asked
        before, asked = asked, counted(asked, number)
        if asked > 1:
            run.cancel()
        elif asked > before:
            run.stop()
            # The terminal may be closed.
            with suppress(OSError):
                _notify("stopping: calls in flight may finish; Ctrl-C again stops at once")

    loop = asyncio.get_running_loop()
    handled = handled_signals()
    for number in handled:
        loop.add_signal_handler(number, stop, number)
    try:
        return await run.perform(work)
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def display_style(request: RunRequest, *, as_json: bool) -> str:
    """rich, plain or none: as configured, else rich on a terminal that can draw, with colours."""
    if request.config.run.display != "auto":
        return request.config.run.display
    if as_json:
        return "none"
    able = request.environment.get("TERM") != "dumb" and "NO_COLOR" not in request.environment
    lively = sys.stderr.isatty() and able
    return "rich" if lively else "plain"


def warn_of_long_skills(request: RunRequest, skills: Mapping[str, SkillDocument]) -> None:
    """Print a warning for each skill whose length makes calls slow and dear.

    Args:
        skills: those that are measured, by their names.
    """
    if display_style(request, as_json=False) == "none":
        return
    by_program = players_of(request.config, ("target",))["target"].runs_programs
    for name, skill in skills.items():
        if words := long_skill_words(skill_chars(skill, by_program=by_program), name):
            _notify(f"Warning: {words}")


def note_unused_settings(home: Path | None, overrides: Overrides, config: RunConfig) -> None:
    """Print a note where the settings of the run that a skill is of are not in force.

    Args:
        home: that run; None where the skill is of none.
        overrides: those of the command, which measures the skill.
    """
    if home is None or overrides.run_folder is not None or config.run.display == "none":
        return
    if note := unused_note(home, config):
        _notify(f"Note: {note}")


def _notify(text: str) -> None:
    typer.echo(text, err=True)


def _ignore(text: str) -> None:
    """Show nothing."""
