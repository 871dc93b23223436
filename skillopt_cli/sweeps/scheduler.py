"""Executes a sweep: starts runs as slots and caps allow, and collects how each ended."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Protocol

from skillopt_cli.core.errors import BudgetExhausted, DataError, Interrupted
from skillopt_cli.core.events import RunFailed, RunFinished
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import CONFIG, EVENTS
from skillopt_cli.store.lock import lock_holder
from skillopt_cli.sweeps.budget import Limits, SweepBudget
from skillopt_cli.sweeps.runner import EndedRun, Runner, StopSignals
from skillopt_cli.sweeps.trials import Trial, TrialSource, with_run

Read = Callable[[Path], RunView]
"""Reads the view of a run folder: empty where there is no run, DataError for a damaged log."""

_POLL = 0.5
_CHECK = 1.0
"""Seconds between two checks of the logs of running runs."""


class SweepProgress(Protocol):
    """Reports the progress of a sweep."""

    def skipped(self, runs: int) -> None:
        """Report the number of runs that were finished before."""

    def run(self, what: str, trial: Trial, view: RunView, message: str = "") -> None:
        """Report a change of a run's state, in a word, and its reason where it is known."""


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """The end of a sweep.

    Attributes:
        failures: failed runs, by run id.
        pruned: run ids of pruned runs.
        capped: whether a cap stopped a run or kept it from starting.
        interrupted: whether the user stopped the sweep.
    """

    failures: dict[str, EndedRun] = field(default_factory=dict)
    pruned: set[str] = field(default_factory=set)
    capped: bool = False
    interrupted: bool = False


@dataclass(slots=True)
class Scheduler:
    """Starts runs as slots and caps allow, until all have ended or none may start.

    Finished runs are skipped, others are resumed. The first run is alone until it has measured the
    seed skill, whose rollouts the others then recall from the common journal. A run that another
    process of a killed sweep holds is waited for. A run with a damaged log counts as failed; since
    its spend is unknown, all that it might have used counts as used.
    """

    source: TrialSource
    runner: Runner
    budget: SweepBudget
    read: Read
    progress: SweepProgress
    signals: StopSignals = field(default_factory=StopSignals)
    _waiting: list[Trial] = field(default_factory=list)
    _running: dict[str, Trial] = field(default_factory=dict)
    _granted: dict[str, Limits] = field(default_factory=dict)
    _resumable: list[Trial] = field(default_factory=list)
    _capped: bool = False
    _failures: dict[str, EndedRun] = field(default_factory=dict)
    _pruned: set[str] = field(default_factory=set)
    _measured: bool = False
    _stopping: bool = False
    _handled: int = 0
    _checked_at: float = 0.0

    def run(self) -> SweepOutcome:
        """Execute the sweep; the first stop signal stops runs gently, the second at once."""
        for trial in self.source.trials:  # of earlier sweeps
            self._record_spend(trial)
        while self._tick():
            pass
        capped = self._capped or bool(self._resumable or (self._waiting and not self._stopping))
        pruned = self._pruned | self.source.pruned
        return SweepOutcome(self._failures, pruned, capped, self._stopping)

    def _tick(self) -> bool:
        """Start what may start, and wait a moment; returns whether runs are left."""
        if self.signals.count > self._handled:
            self._handled, self._stopping = self._handled + 1, True
            for trial in self._running.values():
                self.runner.stop(trial)
        if not self._stopping:
            self._start_runs()
        if not self._running:
            held = [trial for trial in self._waiting if lock_holder(trial.folder) is not None]
            if self._stopping or not held:
                return False
            time.sleep(_POLL)
            return True
        for ended in self.runner.wait():
            self._finish(ended)
        if time.monotonic() - self._checked_at > _CHECK:
            self._checked_at = time.monotonic()
            self._check_progress()
        return True

    def _start_runs(self) -> None:
        """Start runs while slots are free."""
        while len(self._running) < self.runner.slots:
            if self._running and not self._measured:
                return  # the only running one still measures the seed skill for all
            if self._resumable:
                # Runs that are partly paid for precede new ones.
                if not self._resume_capped():
                    return
                continue
            if not any(lock_holder(trial.folder) is None for trial in self._waiting):
                self._request_trials()
            if not self._start_next():
                return

    def _request_trials(self) -> None:
        """Request further trials; finished ones are skipped."""
        while fresh := self.source.next_trials():
            skipped = 0
            for trial in fresh:
                if trial.run_id in self._running or trial in self._waiting:
                    continue  # chosen twice: its end counts for both
                view = self._record_spend(trial)
                if isinstance(view, EndedRun):
                    self._fail(view)
                elif isinstance(view.ending, RunFinished):
                    self._measured = True
                    self.source.record_end(trial, view)
                    skipped += 1
                else:
                    self._waiting.append(trial)
            if skipped:
                self.progress.skipped(skipped)
            if self._waiting:
                return

    def _start_next(self) -> bool:
        free = self.runner.slots - len(self._running)
        for trial in list(self._waiting):
            if (process := lock_holder(trial.folder)) is not None:
                self._reserve_for(trial, process)
                continue
            sharers = min(free, len(self._waiting))
            limits = self.budget.share(trial.run_id, trial.config, sharers)
            if limits is None:
                return False
            self._waiting.remove(trial)
            self._start(trial, limits)
            return True
        return False

    def _start(self, trial: Trial, limits: Limits) -> None:
        _remove_unstarted(trial.folder)
        view = self._view(trial)
        if isinstance(view, EndedRun) or isinstance(view.ending, RunFinished):  # it was waited for
            self._running[trial.run_id] = trial
            self._finish(EndedRun(trial))
            return
        self.progress.run("resumed" if view.run else "started", trial, view)
        self.budget.reserve(trial.run_id, limits)
        self._granted[trial.run_id] = limits
        self._running[trial.run_id] = trial
        self.runner.start(replace(trial, config=with_run(trial.config, **limits)))

    def _reserve_for(self, trial: Trial, process: str) -> None:
        """Reserve the limits of a run that another process holds."""
        view = self._view(trial)
        view = RunView() if isinstance(view, EndedRun) else view
        limits = dict(view.run.limits.caps) if view.run and view.run.limits else {}
        if trial.run_id not in self._granted:
            self.progress.run("held", trial, view, f"process {process} is at work on it: waiting")
        self._granted[trial.run_id] = limits
        self.budget.reserve(trial.run_id, limits)

    def _finish(self, ended: EndedRun) -> None:
        """Record how a run ended."""
        trial = self._running.pop(ended.trial.run_id)
        view = self._record_spend(trial)
        if isinstance(view, EndedRun):
            self._fail(view)
            return
        self._measured |= view.baseline is not None
        if isinstance(view.ending, RunFinished):
            # It may have finished before it received the stop.
            self._pruned.discard(trial.run_id)
            self._failures.pop(trial.run_id, None)
            self.source.record_end(trial, view)
            self.progress.run("finished", trial, view)
        elif trial.run_id in self._pruned:
            self.source.record_end(trial, view)
            self.progress.run("pruned", trial, view)
        # A signal before the run has installed its handlers kills the process.
        elif ended.code == Interrupted.exit_code or (self._stopping and ended.code < 0):
            self._stopping = True
            self.progress.run("stopped", trial, view)
        elif ended.code == BudgetExhausted.exit_code:
            if self._stopped_by_sweep(trial, view):
                self._resumable.append(trial)
            else:
                self._capped = True
            self.progress.run("capped", trial, view, ended.message)
        else:
            self._fail(ended, view)

    def _fail(self, ended: EndedRun, view: RunView | None = None) -> None:
        trial, view = ended.trial, view or RunView()
        self._failures[trial.run_id] = ended
        self.source.record_end(trial, view)
        self.progress.run("failed", trial, view, ended.message)

    def _view(self, trial: Trial) -> RunView | EndedRun:
        """The view of a run, or its failure where the log is damaged."""
        try:
            return self.read(trial.folder)
        except DataError as error:
            return EndedRun(trial, error.exit_code, error.message)

    def _record_spend(self, trial: Trial) -> RunView | EndedRun:
        """The same for a run that has stopped; adds its spend to the budget."""
        view = self._view(trial)
        if not isinstance(view, EndedRun):
            self.budget.record(trial.run_id, view)
        return view

    def _stopped_by_sweep(self, trial: Trial, view: RunView) -> bool:
        """Whether its share of the sweep's caps stopped the run, and not a cap of its own."""
        reached = view.ending.reached if isinstance(view.ending, RunFailed) else ""
        share = self._granted[trial.run_id].get(reached)
        return share is not None and share != getattr(trial.config.run, reached)

    def _resume_capped(self) -> bool:
        """Resume a run that the sweep's caps stopped, if others have left a larger share."""
        most = min(len(self._resumable), self.runner.slots - len(self._running))
        for sharers, trial in product(range(most, 0, -1), self._resumable):
            limits = self.budget.share(trial.run_id, trial.config, sharers)
            before = self._granted[trial.run_id]
            if limits and any(limits[name] > before[name] for name in limits):
                self._resumable.remove(trial)
                self._start(trial, limits)
                return True
        return False

    def _check_progress(self) -> None:
        """Read the logs of running runs: seed measurement and pruning."""
        if self._measured and not self.source.wants_progress:
            return
        for trial in list(self._running.values()):
            view = self._view(trial)
            if isinstance(view, EndedRun):
                continue  # reported as failed when it ends
            self._measured |= view.baseline is not None
            if trial.run_id not in self._pruned and self.source.should_prune(trial, view):
                self._pruned.add(trial.run_id)
                self.runner.stop(trial)


def _remove_unstarted(folder: Path) -> None:
    """Remove the folder of a run that was killed before it stored its configuration."""
    if folder.is_dir() and not (folder / CONFIG).is_file() and not (folder / EVENTS).exists():
        shutil.rmtree(folder)
