"""One program seen to its end: bounded in time, output, disk and processes; nothing is left."""

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
from skillopt_cli.executors.bounds import Bounds, megabytes
from skillopt_cli.executors.family import MARK, Family
from skillopt_cli.executors.folders import bytes_in
from skillopt_cli.ports import Finished

_TICK_SECONDS = 0.5
_REST = 10
"""Measuring a workspace may take one part in this many of the time."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to be run.

    Attributes:
        name: the program, for people.
        environment: all it sees.
        limit: seconds.
        written: folders that count as its workspace.
        streams: an existing folder for its input and output, which are files without a name there.
        wrapped: whether `argv` starts a wrapper that ends with the program, limits it, and must not
            be interrupted itself.
        handed: file descriptors it gets besides its streams.
    """

    name: str
    argv: Sequence[str]
    cwd: Path
    stdin: str
    environment: Mapping[str, str]
    limit: float
    written: Sequence[Path]
    streams: Path
    wrapped: bool = False
    handed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ending:
    timed_out: bool = False
    stopped: str = ""


async def supervise(launch: Launch, bounds: Bounds) -> Finished:
    """Run a program to its end, at most `launch.limit` seconds; nothing it started is left.

    Output goes to files, so a child that keeps a stream open delays nobody. When the program ends,
    breaks a bound or is cancelled, everything it started is killed: its process tree, its session,
    and whatever carries its mark in the environment.

    Returns:
        Its output, undecodable bytes replaced. A program that reached its limit is `timed_out`,
        with the return code it then ended with.

    Raises:
        BackendError: it could not be started.
    """
    with ExitStack() as files:
        into, out, err = (
            files.enter_context(tempfile.TemporaryFile(dir=launch.streams)) for _ in range(3)
        )
        into.write(launch.stdin.encode(errors="backslashreplace"))
        into.seek(0)
        family = Family(secrets.token_hex(16), frozenset(psutil.pids()))
        try:
            process = await _start(launch, (into, out, err), family.mark)
        except asyncio.CancelledError:
            family.kill()
            raise
        if not launch.wrapped:
            _bound_files(process.pid, bounds)
        watched = _Watched(launch, bounds, process, family, (out, err))
        ending = await watched.to_its_end()
        stdout, stderr = (_read(file, bounds.output) for file in (out, err))
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
    """The error of a program that cannot be started."""
    return BackendError(
        f"`{name}` could not be started in {cwd}: {reason}",
        "check that the program is installed and on PATH",
    )


def _bound_files(pid: int, bounds: Bounds) -> None:
    """Let no file outgrow the workspace, where the system can say so of another process."""
    if sys.platform == "linux":
        size = max(bounds.workspace, bounds.disk)
        # One that ended already needs no limit.
        with suppress(psutil.Error):
            psutil.Process(pid).rlimit(psutil.RLIMIT_FSIZE, (size, size))


class _Watched:
    """A program that runs."""

    def __init__(
        self,
        launch: Launch,
        bounds: Bounds,
        process: asyncio.subprocess.Process,
        family: Family,
        outputs: Sequence[IO[bytes]],
    ) -> None:
        self._launch = launch
        self._bounds = bounds
        self._process = process
        self._family = family
        self._outputs = outputs
        self._measure_after = 0.0

    async def to_its_end(self) -> _Ending:
        """Wait for its end, of whatever kind; afterwards it and its family are gone."""
        self._family.led_by(self._process.pid)
        try:
            ending = await self._watch()
            if ending is not None:
                await self._interrupt()
        finally:
            self._family.kill()
            await self._process.wait()
        return ending or _Ending(stopped=await self._excess(last=True))

    async def _watch(self) -> _Ending | None:
        """Why it must be ended; None when it ended by itself."""
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
        """Which bound it broke; empty when none."""
        bounds = self._bounds
        if any(os.fstat(output.fileno()).st_size > bounds.disk for output in self._outputs):
            return f"a stream grew beyond {megabytes(bounds.disk)}"
        if not last and len(self._family.alive()) > bounds.processes:
            return f"more than {bounds.processes} processes ran"
        loop = asyncio.get_running_loop()
        if (began := loop.time()) >= self._measure_after or last:
            size = await asyncio.to_thread(bytes_in, self._launch.written)
            now = loop.time()
            self._measure_after = now + _REST * (now - began)
            if size >= bounds.workspace:
                return f"the workspace grew beyond {megabytes(bounds.workspace)}"
        return ""

    async def _interrupt(self) -> None:
        """Ask it to stop, and give it time to."""
        self._family.interrupt(spare_leader=self._launch.wrapped)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._bounds.grace):
                await self._process.wait()


def _read(file: IO[bytes], limit: int) -> str:
    """A stream's text; of more than `limit` bytes, the first and the last half of that."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= limit:
        return file.read(limit).decode(errors="replace")
    head = file.read(limit // 2)
    file.seek(size - limit // 2)
    tail = file.read(limit // 2)
    omitted = f"\n[{size - len(head) - len(tail)} bytes left out]\n"
    return head.decode(errors="replace") + omitted + tail.decode(errors="replace")
