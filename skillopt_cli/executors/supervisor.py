"""Supervision of one program: limits on time, output, disk and processes, then cleanup."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from skillopt_cli.core.errors import BackendError
from skillopt_cli.executors.process_tree import MARK, ProcessTree
from skillopt_cli.executors.workspaces import bytes_in
from skillopt_cli.ports import Finished, ServiceAddress

_TICK_SECONDS = 0.5
_REST = 10
"""Measuring a workspace may take at most one part in this many of the time."""


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Limits of one program.

    Attributes:
        output: bytes kept of each stream; of a longer one, beginning and end.
        disk: bytes per stream, beyond which the program is killed.
        workspace: bytes of its workspace, HOME and TMPDIR together, and of a single file.
        processes: processes at a time.
        threads: threads of all processes together; enforced by the system in a sandbox, not for
            root.
        grace: seconds between interrupt and kill.
    """

    output: int = 4_000_000
    disk: int = 256_000_000
    workspace: int = 1_000_000_000
    processes: int = 512
    threads: int = 4096
    grace: float = 2.0


def megabytes(size: int) -> str:
    """Format a size for people."""
    return f"{size / 1e6:g} MB"


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to run for an attempt, and its folders.

    Attributes:
        name: the program, for people.
        workspace: the folder it may write in, besides home and temporary.
        environment: all its variables.
        limit: seconds.
        own: an existing folder of this run, which contains `home` and `temporary`, and its input
            and output as unnamed files.
        readable: further files and folders it may read.
        wrapped: whether `argv` starts a wrapper that ends with the program, limits it, and must not
            be interrupted itself.
        handed: file descriptors it inherits besides its streams.
    """

    name: str
    argv: Sequence[str]
    cwd: Path
    workspace: Path
    stdin: str
    environment: Mapping[str, str]
    limit: float
    own: Path
    service: ServiceAddress | None = None
    readable: frozenset[Path] = frozenset()
    wrapped: bool = False
    handed: tuple[int, ...] = ()

    @property
    def home(self) -> Path:
        """The default HOME."""
        return self.own / "home"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files."""
        return self.own / "tmp"

    @property
    def written(self) -> tuple[Path, ...]:
        """All folders it may write in."""
        return self.workspace, self.home, self.temporary


@dataclass(frozen=True, slots=True)
class _Ending:
    timed_out: bool = False
    stopped: str = ""


async def supervise(launch: Launch, limits: ResourceLimits) -> Finished:
    """Run a program for at most `launch.limit` seconds, and kill all processes it started.

    Output goes to files, so a child that keeps a stream open causes no delay. When the program
    ends, exceeds a limit or is cancelled, its processes are killed: its process tree, its session,
    and those with its mark in their environment.

    Returns:
        Its output, undecodable bytes replaced. A program that reached its limit is `timed_out`,
        with the return code it then ended with.

    Raises:
        BackendError: it could not be started.
    """
    with ExitStack() as files:
        into, out, err = (
            files.enter_context(tempfile.TemporaryFile(dir=launch.own)) for _ in range(3)
        )
        into.write(launch.stdin.encode(errors="backslashreplace"))
        into.seek(0)
        tree = ProcessTree(secrets.token_hex(16), frozenset(psutil.pids()))
        try:
            process = await _start(launch, (into, out, err), tree.mark)
        except asyncio.CancelledError:
            tree.kill()
            raise
        if not launch.wrapped:
            _bound_files(process.pid, limits)
        watched = _Watched(launch, limits, process, tree, (out, err))
        ending = await watched.to_its_end()
        stdout, stderr = (_read(file, limits.output) for file in (out, err))
        code = await process.wait()
        return Finished(code, stdout, stderr, ending.timed_out, ending.stopped)


async def _start(
    launch: Launch, streams: tuple[IO[bytes], IO[bytes], IO[bytes]], mark: str
) -> asyncio.subprocess.Process:
    into, out, err = streams
    try:
        return await asyncio.create_subprocess_exec(
            *launch.argv,
            cwd=launch.cwd,
            stdin=into,
            stdout=out,
            stderr=err,
            env={**launch.environment, MARK: mark},
            start_new_session=True,
            pass_fds=launch.handed,
        )
    except OSError as error:
        raise unstartable(launch.name, launch.cwd, error.strerror or str(error)) from error


def unstartable(name: str, cwd: Path, reason: str) -> BackendError:
    """Return the error of a program that cannot be started."""
    return BackendError(
        f"`{name}` could not be started in {cwd}: {reason}",
        "check that the program is installed and on PATH",
    )


def _bound_files(pid: int, limits: ResourceLimits) -> None:
    """Limit the file size of another process, where the system supports that."""
    if sys.platform == "linux":
        size = max(limits.workspace, limits.disk)
        # It may have ended already.
        with suppress(psutil.Error):
            psutil.Process(pid).rlimit(psutil.RLIMIT_FSIZE, (size, size))


class _Watched:
    """A running program."""

    def __init__(
        self,
        launch: Launch,
        limits: ResourceLimits,
        process: asyncio.subprocess.Process,
        tree: ProcessTree,
        outputs: Sequence[IO[bytes]],
    ) -> None:
        self._launch = launch
        self._limits = limits
        self._process = process
        self._tree = tree
        self._outputs = outputs
        self._measure_after = 0.0

    async def to_its_end(self) -> _Ending:
        """Wait for its end, then kill all its processes."""
        self._tree.led_by(self._process.pid)
        try:
            ending = await self._watch()
            if ending is not None:
                await self._interrupt()
        finally:
            self._tree.kill()
            await self._process.wait()
        return ending or _Ending(stopped=await self._excess(last=True))

    async def _watch(self) -> _Ending | None:
        """Return why it must be ended; None if it ended by itself."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._launch.limit
        while (left := deadline - loop.time()) > 0:
            try:
                async with asyncio.timeout(min(left, _TICK_SECONDS)):
                    await self._process.wait()
                    return None
            except TimeoutError:
                if stopped := await self._excess():
                    return _Ending(stopped=stopped)
        return _Ending(timed_out=True)

    async def _excess(self, *, last: bool = False) -> str:
        """Return the limit that it exceeded; "" for none."""
        limits = self._limits
        if any(os.fstat(output.fileno()).st_size > limits.disk for output in self._outputs):
            return f"a stream grew beyond {megabytes(limits.disk)}"
        if not last and len(self._tree.alive()) > limits.processes:
            return f"more than {limits.processes} processes ran"
        loop = asyncio.get_running_loop()
        if (began := loop.time()) >= self._measure_after or last:
            size = await asyncio.to_thread(bytes_in, self._launch.written)
            now = loop.time()
            self._measure_after = now + _REST * (now - began)
            if size >= limits.workspace:
                return f"the workspace grew beyond {megabytes(limits.workspace)}"
        return ""

    async def _interrupt(self) -> None:
        """Interrupt it, and wait for its end for a while."""
        self._tree.interrupt(spare_leader=self._launch.wrapped)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.grace):
                await self._process.wait()


def _read(file: IO[bytes], limit: int) -> str:
    """Return a stream's text; of more than `limit` bytes, the first and the last half of that."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= limit:
        return file.read(limit).decode(errors="replace")
    head = file.read(limit // 2)
    file.seek(size - limit // 2)
    tail = file.read(limit // 2)
    omitted = f"\n[{size - len(head) - len(tail)} bytes left out]\n"
    return head.decode(errors="replace") + omitted + tail.decode(errors="replace")
