"""The listening side: a Unix socket in the run folder that only its owner may use."""

from __future__ import annotations

import asyncio
import socket
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from skillopt_cli.control.commands import (
    Answer,
    Command,
    dump_answer,
    dump_refusal,
    read_command,
)
from skillopt_cli.control.socket_path import SOCKET, reachable
from skillopt_cli.core.errors import SkillOptError, UsageError

OWNER_ONLY = 0o600
_LONGEST_LINE = 64 * 1024

Carry = Callable[[Command], Answer]


@asynccontextmanager
async def listening(folder: Path, carry_out: Carry) -> AsyncIterator[None]:
    """Listen for commands while the block lasts; each is carried out at once, in order of arrival.

    A socket that a killed process left is replaced: the caller holds the folder's lock. Whatever a
    client sends or fails to read does not concern the run.

    Raises:
        OSError: the folder's file system has no sockets, or something else lies there.
    """
    bound = _bound(folder)
    clients: dict[asyncio.StreamWriter, asyncio.Event] = {}

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        gone = clients[writer] = asyncio.Event()
        try:
            await _converse(reader, writer, carry_out)
        finally:
            writer.close()
            del clients[writer]
            gone.set()

    server = await asyncio.start_unix_server(client, sock=bound, limit=_LONGEST_LINE)
    try:
        yield
    finally:
        with suppress(OSError):
            (folder / SOCKET).unlink()
        server.close()
        # Their conversations end by this; cancelled ones would be logged as faults.
        leaving = list(clients.items())
        for writer, _ in leaving:
            writer.transport.abort()
        for _, gone in leaving:
            await gone.wait()


def _bound(folder: Path) -> socket.socket:
    place = folder / SOCKET
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(place.lstat().st_mode):
            place.unlink()
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with reachable(folder) as path:
            bound.bind(path)
        # Nobody can connect before `listen`, so nobody gets in before this.
        place.chmod(OWNER_ONLY)
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


async def _converse(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, carry_out: Carry
) -> None:
    """Answer a client, line by line, until it goes away."""
    try:
        while line := await reader.readline():
            writer.write(_answered(line, carry_out))
            await writer.drain()
    except ValueError:  # a line without an end
        error = UsageError("the line is too long for a command", "use `skillopt ctl`")
        writer.write(dump_refusal(error))
    except ConnectionError:
        pass


def _answered(line: bytes, carry_out: Carry) -> bytes:
    try:
        return dump_answer(carry_out(read_command(line)))
    except SkillOptError as error:  # a log that cannot be written ends the run at its next fact
        return dump_refusal(error)
