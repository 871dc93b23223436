"""Control over a Unix socket in the run folder, which only its owner may use: server and client."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from skillopt_cli.control.commands import (
    Command,
    ControlReply,
    dump_command,
    dump_refusal,
    dump_reply,
    read_command,
    read_reply,
)
from skillopt_cli.core.errors import NotRunning, SkillOptError, UsageError
from skillopt_cli.executors.workspaces import temp_prefix
from skillopt_cli.permissions import OWNER_ONLY

SOCKET = "control.sock"
_LONGEST_PATH = 100
"""Bytes of a socket's path that every system accepts."""
_LONGEST_LINE = 64 * 1024

CommandHandler = Callable[[Command], ControlReply]
PATIENCE = 10.0
"""Timeout in seconds: a busy run replies between two pieces of work."""


@asynccontextmanager
async def serve_commands(folder: Path, execute: CommandHandler) -> AsyncIterator[None]:
    """Serve commands while the block lasts, each executed at once, in order of arrival.

    The caller holds the folder's lock, so a socket that a killed process left is replaced. No
    client can harm the run by what it sends or does not read.

    Raises:
        OSError: the file system has no sockets, or another file has the socket's name.
    """
    bound = _bound(folder)
    clients: dict[asyncio.StreamWriter, asyncio.Event] = {}

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        gone = clients[writer] = asyncio.Event()
        try:
            await _converse(reader, writer, execute)
        finally:
            writer.close()
            del clients[writer]
            gone.set()

    server = await asyncio.start_unix_server(
        client, sock=bound, limit=_LONGEST_LINE, start_serving=False
    )
    try:
        await server.start_serving()
        yield
    finally:
        with suppress(OSError):
            (folder / SOCKET).unlink()
        server.close()
        # Aborted conversations end by themselves; cancelled ones would be logged as errors.
        open_clients = list(clients.items())
        for writer, _ in open_clients:
            writer.transport.abort()
        for _, gone in open_clients:
            await gone.wait()


@contextmanager
def connectable_path(folder: Path) -> Iterator[str]:
    """A path of the folder's socket that is short enough for the system, while the block lasts.

    A longer path is replaced by one through a link in a temporary folder.

    Raises:
        OSError: the temporary folder or the link cannot be created.
    """
    direct = folder / SOCKET
    if len(os.fsencode(direct)) <= _LONGEST_PATH:
        yield str(direct)
        return
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as short:
        link = Path(short, "run")
        link.symlink_to(folder.resolve(), target_is_directory=True)
        yield str(link / SOCKET)


def _bound(folder: Path) -> socket.socket:
    socket_file = folder / SOCKET
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(socket_file.lstat().st_mode):
            socket_file.unlink()
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with connectable_path(folder) as path:
            bound.bind(path)
        # No client can connect before `listen`, so none connects before this.
        socket_file.chmod(OWNER_ONLY)
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


async def _converse(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, execute: CommandHandler
) -> None:
    """Reply to a client, line by line, until it disconnects."""
    try:
        while line := await reader.readline():
            writer.write(_reply_to(line, execute))
            await writer.drain()
    except ValueError:  # a line without an end
        error = UsageError("the line is too long for a command", "use `skillopt ctl`")
        writer.write(dump_refusal(error))
    except ConnectionError:
        pass


def _reply_to(line: bytes, execute: CommandHandler) -> bytes:
    try:
        return dump_reply(execute(read_command(line)))
    except SkillOptError as error:  # a log that cannot be written ends the run at its next fact
        return dump_refusal(error)


async def send(folder: Path, command: Command) -> ControlReply:
    """Send a command to the process at work in a run folder.

    Raises:
        NotRunning: no process listens there, or it ended without a reply.
        UsageError: the command is refused; the message is the run's.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            line = await _exchange(folder, dump_command(command))
        return read_reply(line)
    except TimeoutError:
        raise NotRunning(
            f"the process at work in {folder} does not answer", "try again in a moment"
        ) from None
    except (OSError, ValueError):
        raise NotRunning(
            f"no process is at work in {folder}",
            f"`skillopt ctl {folder} status` shows its state",
        ) from None


async def _exchange(folder: Path, line: bytes) -> bytes:
    with connectable_path(folder) as path:
        reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(line)
        await writer.drain()
        return await reader.readline()
    finally:
        writer.close()
