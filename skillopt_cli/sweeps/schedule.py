"""Carrying out a sweep: what is started when, with how much of the caps, and what is left."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Protocol

from skillopt_cli.compose.folder import CONFIG
from skillopt_cli.core.errors import BudgetExhausted, DataError, Interrupted
from skillopt_cli.core.events import RunFailed, RunFinished
from skillopt_cli.store.files import EVENTS
from skillopt_cli.store.lock import holder
from skillopt_cli.sweeps.crew import Crew, Ended
from skillopt_cli.sweeps.sources import Source
from skillopt_cli.sweeps.spending import Limits, Purse
from skillopt_cli.sweeps.stops import Stops
from skillopt_cli.sweeps.trials import Trial, with_run
from skillopt_cli.ui.view import RunView

Read = Callable[[Path], RunView]
"""What the facts of a run folder add up to; empty where there is no run, DataError for a damaged
log."""

_POLL = 0.5
_LOOK = 1.0
"""Seconds between two looks at the logs of runs at work."""


class Said(Protocol):
    """Is told what happens."""

    def kept(self, runs: int) -> None:
        """So many runs were finished before."""

    def run(self, what: str, trial: Trial, view: RunView, message: str = "") -> None:
        """Something became of a run, in a word, and why where it is known."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How carrying out a sweep ended.

    Attributes:
        failures: why runs have no result, by run id.
        dropped: run ids of those that were not worth going on with.
        short: whether a cap kept a run from its end, or from beginning.
        interrupted: whether the user stopped it.
    """

    failures: dict[str, Ended] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    short: bool = False
    interrupted: bool = False


@dataclass(slots=True)
class Schedule:
    """Begins runs as slots and caps allow, until every one has ended or none may begin.

    A run that is finished is not begun again, any other is taken up. The first one is alone until
    it has measured the seed skill, which the others then find in their common journal. A run that
    another process holds, left over from a sweep that was killed, is waited for. One whose log is
    damaged has failed; what it used is not known, so all that it might use counts as used.
    """

    source: Source
    crew: Crew
    purse: Purse
    read: Read
    said: Said
    stops: Stops = field(default_factory=Stops)
    _waiting: list[Trial] = field(default_factory=list)
    _at_work: dict[str, Trial] = field(default_factory=dict)
    _granted: dict[str, Limits] = field(default_factory=dict)
    _short: list[Trial] = field(default_factory=list)
    _capped: bool = False
    _failures: dict[str, Ended] = field(default_factory=dict)
    _dropped: set[str] = field(default_factory=set)
    _measured: bool = False
    _stopping: bool = False
    _heeded: int = 0
    _looked: float = 0.0

    def carry_out(self) -> Outcome:
        """Do it; the first stop lets runs at work come to one, the second ends them."""
        for trial in self.source.trials:  # of earlier sweeps
            self._known(trial)
        while self._once():
            pass
        short = self._capped or bool(self._short or (self._waiting and not self._stopping))
        dropped = self._dropped | self.source.abandoned
        return Outcome(self._failures, dropped, short, self._stopping)

    def _once(self) -> bool:
        """Begin what may begin, and wait a moment; whether anything is left to do."""
        if self.stops.asked > self._heeded:
            self._heeded, self._stopping = self._heeded + 1, True
            for trial in self._at_work.values():
                self.crew.stop(trial)
        if not self._stopping:
            self._fill()
        if not self._at_work:
            held = [trial for trial in self._waiting if holder(trial.folder) is not None]
            if self._stopping or not held:
                return False
            time.sleep(_POLL)
            return True
        for ended in self.crew.wait():
            self._settle(ended)
        if time.monotonic() - self._looked > _LOOK:
            self._looked = time.monotonic()
            self._look()
        return True

    def _fill(self) -> None:
        """Begin runs while slots are free."""
        while len(self._at_work) < self.crew.slots and not self._alone():
            if self._short:
                # What is paid for in part goes before what would only be begun.
                if not self._go_on():
                    return
                continue
            if not any(holder(trial.folder) is None for trial in self._waiting):
                self._take_in()
            if not self._begin_one():
                return

    def _alone(self) -> bool:
        """Whether the one at work is to measure the seed skill for all."""
        return bool(self._at_work) and not self._measured

    def _take_in(self) -> None:
        """Ask for further trials; those that are finished only count."""
        while fresh := self.source.more():
            kept = 0
            for trial in fresh:
                if trial.run_id in self._at_work or trial in self._waiting:
                    continue  # chosen twice: its end is heard once for both
                view = self._known(trial)
                if isinstance(view, Ended):
                    self._fail(view)
                elif isinstance(view.ending, RunFinished):
                    self._measured = True
                    self.source.ended(trial, view)
                    kept += 1
                else:
                    self._waiting.append(trial)
            if kept:
                self.said.kept(kept)
            if self._waiting:
                return

    def _begin_one(self) -> bool:
        free = self.crew.slots - len(self._at_work)
        for trial in list(self._waiting):
            if (process := holder(trial.folder)) is not None:
                self._await(trial, process)
                continue
            sharers = min(free, len(self._waiting))
            limits = self.purse.share(trial.run_id, trial.config, sharers)
            if limits is None:
                return False
            self._waiting.remove(trial)
            self._begin(trial, limits)
            return True
        return False

    def _begin(self, trial: Trial, limits: Limits) -> None:
        _clear(trial.folder)
        view = self._view(trial)
        if isinstance(view, Ended) or isinstance(view.ending, RunFinished):  # it was waited for
            self._at_work[trial.run_id] = trial
            self._settle(Ended(trial))
            return
        self.said.run("resumed" if view.run else "started", trial, view)
        self.purse.at_work(trial.run_id, limits)
        self._granted[trial.run_id] = limits
        self._at_work[trial.run_id] = trial
        self.crew.begin(replace(trial, config=with_run(trial.config, **limits)))

    def _await(self, trial: Trial, process: str) -> None:
        """Keep back what a run that a killed sweep left at work may use."""
        view = self._view(trial)
        view = RunView() if isinstance(view, Ended) else view
        limits = dict(view.run.limits.caps) if view.run and view.run.limits else {}
        if trial.run_id not in self._granted:
            self.said.run("held", trial, view, f"process {process} is at work on it: waiting")
        self._granted[trial.run_id] = limits
        self.purse.at_work(trial.run_id, limits)

    def _settle(self, ended: Ended) -> None:
        """Take in how a run ended."""
        trial = self._at_work.pop(ended.trial.run_id)
        view = self._known(trial)
        if isinstance(view, Ended):
            self._fail(view)
            return
        self._measured |= view.baseline is not None
        if isinstance(view.ending, RunFinished):
            # It may have come to its end before it heard that it is given up.
            self._dropped.discard(trial.run_id)
            self._failures.pop(trial.run_id, None)
            self.source.ended(trial, view)
            self.said.run("finished", trial, view)
        elif trial.run_id in self._dropped:
            self.source.ended(trial, view)
            self.said.run("pruned", trial, view)
        # A process that is told to stop before its run listens is ended by the signal itself.
        elif ended.code == Interrupted.exit_code or (self._stopping and ended.code < 0):
            self._stopping = True
            self.said.run("stopped", trial, view)
        elif ended.code == BudgetExhausted.exit_code:
            if self._by_sweep(trial, view):
                self._short.append(trial)
            else:
                self._capped = True
            self.said.run("capped", trial, view, ended.message)
        else:
            self._fail(ended, view)

    def _fail(self, ended: Ended, view: RunView | None = None) -> None:
        trial, view = ended.trial, view or RunView()
        self._failures[trial.run_id] = ended
        self.source.ended(trial, view)
        self.said.run("failed", trial, view, ended.message)

    def _view(self, trial: Trial) -> RunView | Ended:
        """How a run stands; how it ended where its log is damaged."""
        try:
            return self.read(trial.folder)
        except DataError as error:
            return Ended(trial, error.exit_code, error.message)

    def _known(self, trial: Trial) -> RunView | Ended:
        """The same of a run that is not at work, with what it used taken in."""
        view = self._view(trial)
        if not isinstance(view, Ended):
            self.purse.knows(trial.run_id, view)
        return view

    def _by_sweep(self, trial: Trial, view: RunView) -> bool:
        """Whether its share of the sweep's caps stopped it, rather than a cap of its own."""
        reached = view.ending.reached if isinstance(view.ending, RunFailed) else ""
        share = self._granted[trial.run_id].get(reached)
        return share is not None and share != getattr(trial.config.run, reached)

    def _go_on(self) -> bool:
        """Take up a run that the sweep's caps stopped, if others have left something for it."""
        most = min(len(self._short), self.crew.slots - len(self._at_work))
        for sharers, trial in product(range(most, 0, -1), self._short):
            limits = self.purse.share(trial.run_id, trial.config, sharers)
            before = self._granted[trial.run_id]
            if limits and any(limits[name] > before[name] for name in limits):
                self._short.remove(trial)
                self._begin(trial, limits)
                return True
        return False

    def _look(self) -> None:
        """See how runs at work come along."""
        if self._measured and not self.source.watches:
            return
        for trial in list(self._at_work.values()):
            view = self._view(trial)
            if isinstance(view, Ended):
                continue  # it has failed, which is heard when it is over
            self._measured |= view.baseline is not None
            if trial.run_id not in self._dropped and self.source.dropped(trial, view):
                self._dropped.add(trial.run_id)
                self.crew.stop(trial)


def _clear(folder: Path) -> None:
    """Remove what a run left that was killed before it had recorded what it is."""
    if folder.is_dir() and not (folder / CONFIG).is_file() and not (folder / EVENTS).exists():
        shutil.rmtree(folder)
