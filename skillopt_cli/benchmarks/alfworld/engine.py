"""The engine as the benchmark sees it: games that are opened, acted in, and closed."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

_PROGRAM = "skillopt_cli.benchmarks.alfworld.game_process"
_SECONDS = 120.0
"""For one move: the first one waits until the engine is loaded."""
_LINE = 1 << 22
_PATIENCE = 1.0
"""Seconds that an ending process is waited for."""


class EngineFailed(Exception):
    """The engine, not the player, did something wrong."""


@dataclass(frozen=True, slots=True)
class View:
    """What a player sees of a game.

    Attributes:
        actions: all that can be done now.
        plan: actions that win from here, where a plan was asked for.
    """

    observation: str
    actions: tuple[str, ...]
    won: bool
    plan: tuple[str, ...] = ()


class Game:
    """A game in play.

    Attributes:
        first: what is seen at its beginning.
    """

    first: View

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def begin(self, sent: Mapping[str, Any]) -> None:
        """Load the game."""
        self.first = await self._ask(sent)

    async def act(self, action: str) -> View:
        """Do something. What cannot be done changes nothing.

        Raises:
            EngineFailed: there is no answer.
        """
        return await self._ask({"action": action})

    async def _ask(self, sent: Mapping[str, Any]) -> View:
        try:
            async with asyncio.timeout(_SECONDS):
                self._writer.write(json.dumps(sent).encode() + b"\n")
                await self._writer.drain()
                line = await self._reader.readline()
        except TimeoutError:
            raise EngineFailed(f"the engine took more than {_SECONDS:g} s for one move") from None
        except OSError as error:
            raise EngineFailed(f"the engine is gone: {error}") from error
        if not line:
            raise EngineFailed("the engine is gone")
        told = json.loads(line)
        if "error" in told:
            raise EngineFailed(f"the engine failed: {told['error']}")
        return View(told["observation"], tuple(told["actions"]), told["won"], tuple(told["plan"]))


class GameEngine:
    """TextWorld in a process of its own, started with the first game.

    Each game is played in a fork of that process, which ends with the game. The process itself ends
    with this object, and with our own process however that ends.
    """

    def __init__(self) -> None:
        self._host: _Host | None = None

    @asynccontextmanager
    async def play(self, sent: Mapping[str, Any]) -> AsyncIterator[Game]:
        """Open a game.

        Args:
            sent: either `game`, a game file's content, or `household`, arguments of
                `household.game_of`; with `plan` its views hold plans.

        Raises:
            EngineFailed: it could not be opened.
        """
        reader, writer = await self._connection()
        try:
            game = Game(reader, writer)
            try:
                await game.begin(sent)
            except EngineFailed as error:
                raise EngineFailed(f"{error}{await self._words()}") from error
            yield game
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._host is None or self._host.process.poll() is not None:
            self._host = _Host()
            weakref.finalize(self, self._host.end)
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._host.control, [b"."], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise EngineFailed(f"the engine did not start{await self._words()}") from error
        return await asyncio.open_unix_connection(sock=ours, limit=_LINE)

    async def _words(self) -> str:
        """The last line of what an engine said that has ended; "" for nothing."""
        return await asyncio.to_thread(self._host.last_words) if self._host else ""


class _Host:
    """The process that is forked."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", _PROGRAM],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(),
                start_new_session=True,
            )

    def last_words(self) -> str:
        """What it said last before it ended; "" while it runs."""
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return ""
        lines = self._said().decode(errors="replace").split("\n")
        said = next((line for line in reversed(lines) if line.strip()), "")
        return f" ({said.strip()})"

    def end(self) -> None:
        """End it; it removes its temporary files where it is given the time."""
        self.control.close()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()

    def _said(self) -> bytes:
        """At once: its forks may hold the other end of the pipe still."""
        return os.read(self.process.stderr.fileno(), _LINE) if self.process.stderr else b""


def _environment() -> dict[str, str]:
    """What the engine sees. Importing `alfworld` makes a folder at `ALFWORLD_DATA`: a harmless one.

    With a fixed hash seed the same moves meet the same words: the engine names things in sets.
    """
    return {
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "ALFWORLD_DATA": tempfile.gettempdir(),
    }
