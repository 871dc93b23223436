"""Programs on this machine, in folders of their own, none of which outlives its attempt."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import psutil

from skillopt_cli.core.errors import BackendError
from skillopt_cli.ports import Finished

MARK = "SKILLOPT_PROCESS"
"""Environment variable that children inherit, by which they are found wherever they hide."""

_TICK_SECONDS = 0.5
_SWEEP_SECONDS = 2.0
_PAUSE_SECONDS = 0.005

_Ending = Literal["exited", "timed_out", "flooded"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of one program.

    Attributes:
        output: bytes kept of each stream; of a longer one, beginning and end.
        disk: bytes a stream may reach before the program is killed.
        grace: seconds between the request to stop and the kill.
    """

    output: int = 4_000_000
    disk: int = 256_000_000
    grace: float = 2.0


class LocalExecutor:
    """The `Executor` without isolation: it cleans up, it does not protect.

    A program's output goes to files, so a child that keeps the stream open delays nobody. When the
    program ends, reaches its limit or is cancelled, everything it started is killed: its process
    tree, its session, and whatever carries its mark in the environment.

    Args:
        root: where workspaces are made.
        environment: what programs see; None gives them the system's default search path only.
    """

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str] | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.root = root
        self._environment = {"PATH": os.defpath} if environment is None else environment
        self._bounds = bounds or Bounds()

    @asynccontextmanager
    async def workspace(self, name: str) -> AsyncIterator[Path]:
        """A fresh folder whose name starts like `name`, removed afterwards."""
        self.root.mkdir(parents=True, exist_ok=True)
        start = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:40]
        folder = Path(tempfile.mkdtemp(prefix=f"{start}-", dir=self.root))
        try:
            yield folder
        finally:
            await asyncio.to_thread(_remove, folder)

    async def run(
        self, argv: Sequence[str], *, cwd: Path, stdin: str = "", limit: float
    ) -> Finished:
        """Run a program to its end, at most `limit` seconds; nothing it started is left.

        Returns:
            Its output, undecodable bytes replaced. A program that reached its limit is `timed_out`,
            with the return code it then ended with.

        Raises:
            BackendError: it could not be started.
        """
        with ExitStack() as files:
            into, out, err = (files.enter_context(self._scratch()) for _ in range(3))
            into.write(stdin.encode(errors="backslashreplace"))
            into.seek(0)
            family = _Family(secrets.token_hex(16), frozenset(psutil.pids()))
            try:
                process = await self._start(argv, cwd, (into, out, err), family.mark)
            except asyncio.CancelledError:
                family.kill()
                raise
            ending = await self._attend(process, family, (out, err), limit)
            stdout, stderr = (_read(file, self._bounds.output) for file in (out, err))
            if ending == "flooded":
                stderr += f"\n[killed: a stream grew beyond {self._bounds.disk} bytes]\n"
            return Finished(await process.wait(), stdout, stderr, ending == "timed_out")

    def _scratch(self) -> IO[bytes]:
        self.root.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=self.root)

    async def _start(
        self,
        argv: Sequence[str],
        cwd: Path,
        streams: tuple[IO[bytes], IO[bytes], IO[bytes]],
        mark: str,
    ) -> asyncio.subprocess.Process:
        into, out, err = streams
        try:
            return await asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                stdin=into,
                stdout=out,
                stderr=err,
                env={**self._environment, MARK: mark},
                start_new_session=True,
            )
        except OSError as error:
            raise BackendError(
                f"`{argv[0]}` could not be started in {cwd}: {error.strerror}",
                "check that the program is installed and on PATH",
            ) from error

    async def _attend(
        self,
        process: asyncio.subprocess.Process,
        family: _Family,
        outputs: Sequence[IO[bytes]],
        limit: float,
    ) -> _Ending:
        """See the program to its end, of whatever kind; afterwards it and its family are gone."""
        family.led_by(process.pid)
        try:
            ending = await self._watch(process, outputs, limit)
            if ending != "exited":
                await self._interrupt(process, family)
            return ending
        finally:
            family.kill()
            await process.wait()

    async def _watch(
        self, process: asyncio.subprocess.Process, outputs: Sequence[IO[bytes]], limit: float
    ) -> _Ending:
        """Wait until the program ends, or must be ended."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit
        while (left := deadline - loop.time()) > 0:
            try:
                async with asyncio.timeout(min(left, _TICK_SECONDS)):
                    await process.wait()
                    return "exited"
            except TimeoutError:
                if any(os.fstat(o.fileno()).st_size > self._bounds.disk for o in outputs):
                    return "flooded"
        return "timed_out"

    async def _interrupt(self, process: asyncio.subprocess.Process, family: _Family) -> None:
        """Ask the program's process group to stop, and give it time to."""
        family.note()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._bounds.grace):
                await process.wait()


class _Family:
    """The processes a program started, however they tried to leave it.

    Args:
        mark: value of `MARK` in their environment.
        before: process ids that existed earlier, which need no look.
    """

    def __init__(self, mark: str, before: frozenset[int]) -> None:
        self.mark = mark
        self._before = before
        self._session = 0
        self._leader: psutil.Process | None = None
        self._noted: set[psutil.Process] = set()

    def led_by(self, pid: int) -> None:
        """Name the program itself, which leads a session of its own."""
        self._session = pid
        with suppress(psutil.NoSuchProcess):
            self._leader = psutil.Process(pid)

    def note(self) -> None:
        """Remember the present tree: an orphan cannot be traced to its ancestors any more."""
        if self._leader is not None and _runs(self._leader):
            with suppress(psutil.Error):
                self._noted.update([self._leader, *self._leader.children(recursive=True)])

    def kill(self) -> None:
        """Kill them all, again and again until none is left: they may fork meanwhile.

        Does not yield to the event loop, so that a second cancellation cannot get in between.
        """
        give_up = time.monotonic() + _SWEEP_SECONDS
        self.note()
        while (alive := self._alive()) and time.monotonic() < give_up:
            for process in alive:
                with suppress(psutil.Error):
                    process.kill()
            time.sleep(_PAUSE_SECONDS)

    def _alive(self) -> list[psutil.Process]:
        found = set(self._noted)
        for pid in psutil.pids():
            if pid not in self._before:
                with suppress(psutil.Error, OSError):
                    process = psutil.Process(pid)
                    if os.getsid(pid) == self._session or process.environ().get(MARK) == self.mark:
                        found.add(process)
        return [process for process in found if _runs(process)]


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


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


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        return
    # Some programs write-protect the folders of their caches.
    for parent, folders, _ in os.walk(folder):
        for path in (Path(parent), *(Path(parent, name) for name in folders)):
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
