"""The processes that a program started, including daemons, and their termination."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

import psutil

MARK = "SKILLOPT_PROCESS"
"""Environment variable that identifies the descendants of a program."""

_SWEEP_SECONDS = 5.0
_PAUSE_SECONDS = 0.005


class ProcessTree:
    """All processes of a program: its process tree, its session, and those with its mark.

    Args:
        mark: value of `MARK` in their environment.
        before: process ids that existed before, which are skipped.
    """

    def __init__(self, mark: str, before: frozenset[int]) -> None:
        self.mark = mark
        self._before = before
        self._session = 0
        self._leader: psutil.Process | None = None
        self._noted: set[psutil.Process] = set()

    def led_by(self, pid: int) -> None:
        """Set the process of the program, which leads its own session."""
        self._session = pid
        with suppress(psutil.NoSuchProcess):
            self._leader = psutil.Process(pid)

    def interrupt(self, *, spare_leader: bool) -> None:
        """Interrupt all process groups of the present tree.

        Args:
            spare_leader: skip the leader's group, if it is a wrapper whose end kills the rest.
        """
        self._note()
        groups = set[int]()
        # Only running ones, since the number of an ended process may be reused.
        for process in filter(_runs, self._noted):
            with suppress(ProcessLookupError):
                groups.add(os.getpgid(process.pid))
        if spare_leader:
            groups.discard(self._session)
        for group in groups:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGINT)

    def kill(self) -> None:
        """Kill all processes repeatedly until none is left, since they may fork meanwhile.

        Does not yield to the event loop, so that a second cancellation cannot interrupt it.
        """
        give_up = time.monotonic() + _SWEEP_SECONDS
        while (alive := self.alive()) and time.monotonic() < give_up:
            for process in alive:
                with suppress(psutil.Error):
                    process.kill()
            time.sleep(_PAUSE_SECONDS)

    def alive(self) -> list[psutil.Process]:
        """Return the running ones."""
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
        """Store the present tree, since orphans lose the link to their ancestors."""
        if self._leader is not None and _runs(self._leader):
            with suppress(psutil.Error):
                self._noted.update([self._leader, *self._leader.children(recursive=True)])


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
