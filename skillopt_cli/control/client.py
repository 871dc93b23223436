"""The asking side: one async function per command, for the command line and the web page.

Each takes the run folder first and returns the run's `Answer`. Each raises `NotRunning` where no
process listens there, and `UsageError`, with the run's own words, where the command is refused.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from skillopt_cli.control import commands
from skillopt_cli.control.commands import Answer, Command, dump_command, read_answer
from skillopt_cli.control.socket_path import reachable
from skillopt_cli.core.errors import NotRunning
from skillopt_cli.core.events.control import PausePoint

PATIENCE = 10.0
"""Seconds for an answer: a run at work answers between two pieces of work."""


async def status(folder: Path) -> Answer:
    """How things stand, as far as only the process knows."""
    return await send(folder, commands.Status())


async def pause(folder: Path, at: PausePoint = "now") -> Answer:
    """Hold the run now, or when the next step's edits are chosen."""
    return await send(folder, commands.Pause(at))


async def resume(folder: Path, at: PausePoint = "now") -> Answer:
    """Let a paused run go on, or take the plan of a pause back; at "edits" only the latter."""
    return await send(folder, commands.Resume(at))


async def stop(folder: Path) -> Answer:
    """Stop the run as the first Ctrl-C does: resumable, nothing in flight is lost."""
    return await send(folder, commands.Stop())


async def change(folder: Path, key: str, value: str) -> Answer:
    """Change `run.max_concurrency` or a cap; the value as after `--set`, "null" lifts a cap."""
    return await send(folder, commands.Set(key, value))


async def veto(folder: Path, number: int, reason: str = "") -> Answer:
    """Strike out a chosen edit, by its number from 1, while the run is paused there."""
    return await send(folder, commands.Veto(number, reason))


async def hint(folder: Path, text: str) -> Answer:
    """Tell the next reflection something."""
    return await send(folder, commands.Hint(text))


async def send(folder: Path, command: Command) -> Answer:
    """Ask the process at work in a run folder to do something.

    Raises:
        NotRunning: no process listens there, or it went away without an answer.
        UsageError: it refuses.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            line = await _exchanged(folder, dump_command(command))
        return read_answer(line)
    except TimeoutError:
        raise NotRunning(
            f"the process at work in {folder} does not answer", "try again in a moment"
        ) from None
    except (OSError, ValueError):
        raise NotRunning(
            f"no process is at work in {folder}",
            f"`skillopt ctl {folder} status` says how it stands",
        ) from None


async def _exchanged(folder: Path, line: bytes) -> bytes:
    with reachable(folder) as path:
        reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(line)
        await writer.drain()
        return await reader.readline()
    finally:
        writer.close()
