"""Runners of trials, in this process or in a pool of processes, and the signals that stop them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from skillopt_cli.compose.stop_signals import STOP_SIGNALS, counted
from skillopt_cli.core.errors import Interrupted, SkillOptError
from skillopt_cli.permissions import opener
from skillopt_cli.sweeps.trials import Trial
from skillopt_cli.ui.error_text import error_lines, last_error, printed_since

Train = Callable[[Trial], None]
"""Trains a trial, or resumes the run in its folder; raises SkillOptError."""

_POLL = 0.1


@dataclass(slots=True)
class StopSignals:
    """Number of requests to stop; an exception could interrupt a sweep between any two lines of it.

    Attributes:
        count: those received inside of `counting`.
    """

    count: int = 0
    _before: dict[signal.Signals, Any] = field(default_factory=dict)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count signals while the block lasts, except those that this process ignores."""
        handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        self._before = {n: old for n, old in handlers.items() if old is not signal.SIG_IGN}
        self._install()
        try:
            yield
        finally:
            self._restore()

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Restore the earlier handlers while the block lasts, for work that has its own."""
        self._restore()
        try:
            yield
        finally:
            self._install()

    def _install(self) -> None:
        for number in self._before:
            signal.signal(number, self._count_signal)

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _count_signal(self, number: int, frame: FrameType | None) -> None:
        self.count = counted(self.count, number)


@dataclass(frozen=True, slots=True)
class EndedRun:
    """The end of a run.

    Attributes:
        code: the exit code; below 0 for a killed process.
        message: the error, empty for none.
    """

    trial: Trial
    code: int = 0
    message: str = ""


class Runner(Protocol):
    """Executes runs, up to `slots` of them at a time."""

    @property
    def slots(self) -> int:
        """Most runs at a time."""

    def start(self, trial: Trial) -> None:
        """Start or resume a run."""

    def wait(self) -> Sequence[EndedRun]:
        """Wait a moment; returns the runs that have ended since the last call."""

    def stop(self, trial: Trial) -> None:
        """Stop a run so that it can be resumed; the second call stops it at once."""


@dataclass(slots=True)
class InProcess:
    """Executes runs in this process, one after another: `start` returns at the end of the run."""

    train: Train
    signals: StopSignals = field(default_factory=StopSignals)
    slots: int = 1
    _ended: list[EndedRun] = field(default_factory=list)

    def start(self, trial: Trial) -> None:
        """Execute the run."""
        ended = EndedRun(trial)
        try:
            with self.signals.suspended():
                self.train(trial)
        except KeyboardInterrupt:  # outside of the run's own signal handling
            ended = EndedRun(trial, Interrupted.exit_code)
        except SkillOptError as error:
            ended = EndedRun(trial, error.exit_code, error.message)
        self._ended.append(ended)

    def wait(self) -> Sequence[EndedRun]:
        """The runs executed since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def stop(self, trial: Trial) -> None:
        """No-op: a started run has ended."""


@dataclass(slots=True)
class ProcessRunner:
    """Executes each run in a process that writes its output to `<run id>.log` in `home`.

    Each has its own process group, so that Ctrl-C reaches this process alone, which forwards it.
    """

    train: Train
    slots: int
    home: Path
    _running: dict[str, _RunProcess] = field(default_factory=dict)

    def start(self, trial: Trial) -> None:
        """Start the run's process."""
        # Forking is unsound where threads exist.
        start = multiprocessing.get_context("spawn").Process
        log = self.home / f"{trial.run_id}.log"
        size = log.stat().st_size if log.exists() else 0
        process = start(target=_run_in_process, args=(self.train, trial, log))
        # Starting it inside of the block would unblock the signals.
        resource_tracker.ensure_running()
        with _blocked_signals():
            process.start()
        self._running[trial.run_id] = _RunProcess(trial, process, log, size)

    def wait(self) -> Sequence[EndedRun]:
        """Wait a moment; returns the runs whose processes have ended."""
        ended = [run_id for run_id, one in self._running.items() if not one.process.is_alive()]
        if not ended:
            time.sleep(_POLL)
        return [self._running.pop(run_id).ended() for run_id in ended]

    def stop(self, trial: Trial) -> None:
        """Send the run's process a SIGTERM."""
        if trial.run_id in self._running:
            self._running[trial.run_id].process.terminate()


@dataclass(frozen=True, slots=True)
class _RunProcess:
    """The process of a run.

    Attributes:
        log_start: size of its log before it started.
    """

    trial: Trial
    process: BaseProcess
    log: Path
    log_start: int

    def ended(self) -> EndedRun:
        """Release the process and return the run's end."""
        code = self.process.exitcode or 0
        self.process.close()
        if code < 0:
            return EndedRun(self.trial, code, f"its process was ended by signal {-code}")
        return EndedRun(self.trial, code, self._last_error() if code else "")

    def _last_error(self) -> str:
        error = last_error(printed_since(self.log, self.log_start)) if self.log.exists() else None
        return error.message if error else f"its process failed; see {self.log}"


def _run_in_process(train: Train, trial: Trial, log: Path) -> None:
    """The main function of a run's process: train, with output and error in the log."""
    os.setpgid(0, 0)
    # Discards a Ctrl-C from the start of the process: the sweep handles and forwards it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    with open(log, "a", encoding="utf-8", opener=opener) as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    try:
        train(trial)
    except SkillOptError as error:
        sys.stderr.write(error_lines(error))
        sys.exit(error.exit_code)


@contextmanager
def _blocked_signals() -> Iterator[None]:
    """Block signals: a process started inside receives none until it unblocks them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
