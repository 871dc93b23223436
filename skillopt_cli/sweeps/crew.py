"""Who carries runs out, and what is known of how each ended."""

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
from typing import Protocol

from skillopt_cli.core.errors import Interrupted, SkillOptError
from skillopt_cli.sweeps.stops import SIGNALS, Stops
from skillopt_cli.sweeps.trials import Trial
from skillopt_cli.ui.printed import error_lines, last_error, printed_since

Train = Callable[[Trial], None]
"""Trains a trial, or takes it up where its folder holds a run; raises SkillOptError."""

_POLL = 0.1


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is no longer at work.

    Attributes:
        code: the exit code; below 0 for a process that was killed.
        message: what went wrong, empty where nothing did.
    """

    trial: Trial
    code: int = 0
    message: str = ""


class Crew(Protocol):
    """Carries out runs, up to `slots` of them at a time."""

    @property
    def slots(self) -> int:
        """How many runs may be at work."""

    def begin(self, trial: Trial) -> None:
        """Train, or take up where the run folder holds a run already."""

    def wait(self) -> Sequence[Ended]:
        """Wait a moment; the runs that have ended since the last time, each once."""

    def stop(self, trial: Trial) -> None:
        """Let a run come to a stop that it can be resumed from; asked again, it stops at once."""


@dataclass(slots=True)
class Here:
    """Runs in this process, one after another: each is over when it has begun."""

    train: Train
    stops: Stops = field(default_factory=Stops)
    slots: int = 1
    _over: list[Ended] = field(default_factory=list)

    def begin(self, trial: Trial) -> None:
        """Carry the run out."""
        over = Ended(trial)
        try:
            with self.stops.passed_on():
                self.train(trial)
        except KeyboardInterrupt:  # before the run listened, or after
            over = Ended(trial, Interrupted.exit_code)
        except SkillOptError as error:
            over = Ended(trial, error.exit_code, error.message)
        self._over.append(over)

    def wait(self) -> Sequence[Ended]:
        """The runs carried out since the last time."""
        over, self._over = self._over, []
        return over

    def stop(self, trial: Trial) -> None:
        """Nothing: it is over."""


@dataclass(slots=True)
class Processes:
    """Runs as processes of their own. Each writes what it says to `<run id>.log` in `home`.

    They have a process group each, so that Ctrl-C reaches this process alone, which passes it on.
    """

    train: Train
    slots: int
    home: Path
    _at_work: dict[str, _AtWork] = field(default_factory=dict)

    def begin(self, trial: Trial) -> None:
        """Start its process."""
        # Forking a process that may have threads is unsound.
        start = multiprocessing.get_context("spawn").Process
        log = self.home / f"{trial.run_id}.log"
        said = log.stat().st_size if log.exists() else 0
        process = start(target=_carry_out, args=(self.train, trial, log))
        # Would be started below else, and let through there what is held back.
        resource_tracker.ensure_running()
        with _held_back():
            process.start()
        self._at_work[trial.run_id] = _AtWork(trial, process, log, said)

    def wait(self) -> Sequence[Ended]:
        """Wait a moment for processes to end."""
        over = [run_id for run_id, one in self._at_work.items() if not one.process.is_alive()]
        if not over:
            time.sleep(_POLL)
        return [self._at_work.pop(run_id).ended() for run_id in over]

    def stop(self, trial: Trial) -> None:
        """Ask its process to stop."""
        if trial.run_id in self._at_work:
            self._at_work[trial.run_id].process.terminate()


@dataclass(frozen=True, slots=True)
class _AtWork:
    """A run with a process.

    Attributes:
        said: bytes that its log held before.
    """

    trial: Trial
    process: BaseProcess
    log: Path
    said: int

    def ended(self) -> Ended:
        """How it ended; its process is of no use any more."""
        code = self.process.exitcode or 0
        self.process.close()
        if code < 0:
            return Ended(self.trial, code, f"its process was ended by signal {-code}")
        return Ended(self.trial, code, self._last_error() if code else "")

    def _last_error(self) -> str:
        error = last_error(printed_since(self.log, self.said)) if self.log.exists() else None
        return error.message if error else f"its process failed; {self.log} says how"


def _carry_out(train: Train, trial: Trial, log: Path) -> None:
    """What the process of a run does: train, and say into the log how it went."""
    os.setpgid(0, 0)
    # What was held back while it began and is meant for the sweep, which passes it on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    with log.open("a", encoding="utf-8") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    try:
        train(trial)
    except SkillOptError as error:
        sys.stderr.write(error_lines(error))
        sys.exit(error.exit_code)


@contextmanager
def _held_back() -> Iterator[None]:
    """A process that is begun meanwhile hears of no stop until it says so."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
