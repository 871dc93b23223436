"""The processes of a program, found and killed wherever they hide."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

import psutil

MARK = "SKILLOPT_PROCESS"
"""Environment variable that children inherit, by which they are found."""

_SWEEP_SECONDS = 2.0
_PAUSE_SECONDS = 0.005


class Family:
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

    def interrupt(self, *, spare_leader: bool) -> None:
        """Ask all process groups of the present tree to stop.

        Args:
            spare_leader: not the leader's own group: it is a wrapper whose end would kill the rest.
        """
        self._note()
        groups = set[int]()
        # Only of those that still run: another's process may have the number of one that ended.
        for process in filter(_runs, self._noted):
            with suppress(ProcessLookupError):
                groups.add(os.getpgid(process.pid))
        if spare_leader:
            groups.discard(self._session)
        for group in groups:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGINT)

    def kill(self) -> None:
        """Kill them all, again and again until none is left: they may fork meanwhile.

        Does not yield to the event loop, so that a second cancellation cannot get in between.
        """
        give_up = time.monotonic() + _SWEEP_SECONDS
        while (alive := self.alive()) and time.monotonic() < give_up:
            for process in alive:
                with suppress(psutil.Error):
                    process.kill()
            time.sleep(_PAUSE_SECONDS)

    def alive(self) -> list[psutil.Process]:
        """Those that run."""
        self._note()
        found = set(self._noted)
        for pid in psutil.pids():
            if pid not in self._before:
                with suppress(psutil.Error, OSError):
                    process = psutil.Process(pid)
                    if os.getsid(pid) == self._session or process.environ().get(MARK) == self.mark:
                        found.add(process)
        return [process for process in found if _runs(process)]

    def _note(self) -> None:
        """Remember the present tree: an orphan cannot be traced to its ancestors any more."""
        if self._leader is not None and _runs(self._leader):
            with suppress(psutil.Error):
                self._noted.update([self._leader, *self._leader.children(recursive=True)])


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
