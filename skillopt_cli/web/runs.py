"""Reads runs for pages: each log is read once, then opened as it grows."""

from __future__ import annotations

import logging
import queue
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock

from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.task import TaskSet
from skillopt_cli.reports.confusions import Confusions, confusions_of
from skillopt_cli.reports.export.tasks import (
    ExportedTasks,
    compared_splits,
    exported_tasks,
    measured_splits,
    tasks_of,
)
from skillopt_cli.reports.task_answers import TaskAnswer
from skillopt_cli.reports.task_table import TaskRow, TaskTable, task_table
from skillopt_cli.reports.task_texts import LONGEST, TaskTexts
from skillopt_cli.runlog.costs import Document
from skillopt_cli.runlog.expectation import expected_best, measured_in_full
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.summary import summarise
from skillopt_cli.runlog.text.run_list import Row, run_row, summary_row, unreadable_row
from skillopt_cli.runlog.text.unfinished import can_resume, capped
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import EVENTS
from skillopt_cli.store.lock import lock_holder
from skillopt_cli.web.derived import Derived
from skillopt_cli.web.paths import NotFound, Outputs, RunName

MOST_OPEN = 12
"""Runs whose views stay in memory; of the others only their row of the list."""
MOST_ATTEMPTS = 2_000_000
"""Attempts of these runs together where there are several: each takes 1 to 200 bytes."""
MOST_RESULTS = 100_000_000
"""Bytes of a run's results that are read in full for a page or a download."""
PATIENCE = 0.02
"""Seconds a page spends on reading logs; the rest is read between pages."""

_SLICE = 0.01
"""Seconds spent on one log before a shorter one, or a page, has its turn."""

_LOG = logging.getLogger(__name__)

LogState = tuple[int, int, bool]
"""State of a log without reading it: inode, size, and whether a process is at work."""


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run as far as its log is read.

    Attributes:
        at_work: whether a process is at work on it.
        facts: number of facts read so far.
        share: share of the log that is read, 1.0 for all.
        derived: values computed from the run, which stay as long as its view.
    """

    name: RunName
    folder: Path
    view: RunView
    at_work: bool
    facts: int
    share: float = 1.0
    derived: Derived = field(default_factory=Derived)

    @property
    def whole(self) -> bool:
        """Whether all of the log is read."""
        return self.share >= 1.0

    @property
    def resumable(self) -> bool:
        """Whether a process may be started that continues the run with the settings it has."""
        # Without a higher cap it would end again at once.
        possible = can_resume(self.view) and not capped(self.view)
        return self.whole and not self.at_work and possible

    @property
    def open_word(self) -> str:
        """What a step without a result is; a log that is still being read may have the result."""
        return "at work" if self.at_work else "unfinished" if self.whole else "being read"

    @property
    def summary(self) -> Document:
        """The content of `summary.json`."""
        view = self.view
        # It changes with a measurement, the rest with every fact.
        source = measured_in_full(view), view.standing.best
        expected = self.derived.get("expected", source, lambda: expected_best(view))
        found = summarise(view, expect=False)
        return found | {"best_gate_score_expected": expected.value if expected else None}

    def tasks(self, split: TaskSet) -> TaskTable:
        """The tasks of a split."""
        return self.derived.get(
            f"tasks {split}", self.facts, lambda: task_table(self.view, split, self.texts)
        )

    def outside_labels(self, row: TaskRow, answer: TaskAnswer) -> bool:
        """Whether a wrong answer is none of the labels, where the expected one is a label."""
        shown, found = answer.attempts[answer.shown - 1], self._compared
        # What an answer gives may be at its end.
        whole = 0 < len(shown.text) < LONGEST
        if shown.outcome.state != "failed" or not whole or found.label_of(row) is None:
            return False
        return found.label_in(shown.text) is None

    @property
    def confusions(self) -> Confusions:
        """Which labels were given for which, as far as scores are recorded."""
        return self.derived.get("confusions", self._measured, self._confusions)

    @property
    def _measured(self) -> object:
        """What changes with a measurement, not with every fact."""
        view = self.view
        return view.baseline, view.saved, view.tests, view.ending

    @property
    def _compared(self) -> ExportedTasks:
        """The tasks on which texts are compared, and the labels of all."""

        def compared() -> ExportedTasks:
            tables = {split: self.tasks(split) for split in measured_splits(self.view)}
            return tasks_of(tables, compared_splits(self.view))

        return self.derived.get("compared", self._measured, compared)

    def _confusions(self) -> Confusions:
        found = self._compared
        if not found.labels.names:
            return Confusions()
        attempts = (
            one for task in found.tasks for a in task.row.answers if a for one in a.attempts
        )
        # What an answer gives may be at its end.
        if any(len(one.text) >= LONGEST or not one.known for one in attempts):
            try:
                found = exported_tasks(self.view, self.folder, most=MOST_RESULTS)
            except UsageError:  # the results are too large for a page
                return Confusions()
        return confusions_of(found)

    @property
    def texts(self) -> TaskTexts:
        """The texts of its attempts."""
        return self.derived.get("texts", None, lambda: TaskTexts(self.folder))


@dataclass(slots=True)
class _OpenLog:
    reading: RunLog
    lock: Lock = field(default_factory=Lock)
    derived: Derived = field(default_factory=Derived)

    @property
    def attempts(self) -> int:
        """How many attempts its view holds, at most."""
        return self.reading.view.made + self.reading.view.recalled


class Runs:
    """All runs of an outputs folder. Thread-safe.

    Args:
        patience: seconds a page may spend on reading logs.
    """

    def __init__(self, outputs: Outputs, patience: float = PATIENCE) -> None:
        self.outputs = outputs
        self._patience = patience
        self._open_logs: OrderedDict[RunName, _OpenLog] = OrderedDict()
        self._rows: dict[RunName, tuple[LogState, Row]] = {}
        self._lock = Lock()
        self._pages = 0
        self._no_page = Event()
        self._no_page.set()
        self._queue: queue.PriorityQueue[tuple[int, str, RunName | None]] = queue.PriorityQueue()
        self._queued: set[RunName] = set()
        self._closed = False

    def snapshot(self, name: RunName, patience: float | None = None) -> RunSnapshot:
        """A run, read for `patience` seconds at most; the rest is queued.

        Raises:
            NotFound: there is no such run.
            DataError: its log cannot be read.
        """
        patience = self._patience if patience is None else patience
        folder = self.outputs.folder(name)
        # Checked first: a run that ends in between has then logged its ending.
        state = self.log_state(name)
        opened = self._open_log(name, folder)
        # Waiting for another thread that reads the log counts too.
        end = time.monotonic() + patience
        reading, done = opened.reading, False
        with _acquired(opened.lock, patience) as acquired:
            if acquired:
                done = _read_until(reading, end)
            # What was not read yet may have the ending.
            view = reading.seen(nobody=done and not state[-1])
        if not done:
            self._enqueue(name, state)
        elif self._outdated(name, state):
            self._rows[name] = state, run_row(folder, view)
        share = 1.0 if done else min(reading.share, 0.999)
        return RunSnapshot(name, folder, view, state[-1], reading.facts, share, opened.derived)

    def rows(self) -> list[Row]:
        """A row per run; its `status` is "reading" until the log is read.

        `behind` is true where the log has grown since the row was made, and is not read on yet.
        """
        end = time.monotonic() + self._patience
        found = dict[RunName, Row]()
        states = dict[RunName, LogState]()
        names = self.outputs.names()
        for name in self._rows.copy().keys() - set(names):
            self._rows.pop(name, None)
        for name in names:
            with suppress(NotFound):  # removed since it was listed
                states[name] = self.log_state(name)
        for name in sorted(states, key=lambda name: states[name][1]):
            with suppress(NotFound):
                found[name] = self._row(name, states[name], end)
        return [found[name] for name in names if name in found]

    @contextmanager
    def page(self) -> Iterator[None]:
        """Suspend `read_pending` while a page is built, which it would delay."""
        with self._lock:
            self._pages += 1
            self._no_page.clear()
        try:
            yield
        finally:
            with self._lock:
                self._pages -= 1
                if not self._pages:
                    self._no_page.set()

    def read_pending(self) -> None:
        """Read queued logs until `close`; runs in a thread of its own."""
        while (name := self._queue.get()[-1]) is not None and not self._closed:
            self._queued.discard(name)
            self._no_page.wait()
            try:
                self._read(name, _SLICE)
            except NotFound:
                pass  # removed since it was queued
            # A bug, or a log that cannot be read, must not affect other runs.
            except Exception:
                _LOG.exception("the log of %s cannot be read on", name.key)

    def close(self) -> None:
        """Make `read_pending` return soon."""
        self._closed = True
        self._queue.put((-1, "", None))

    def log_state(self, name: RunName) -> LogState:
        """State of the log, which shows changes without reading it.

        Raises:
            NotFound: there is no such run.
        """
        folder = self.outputs.folder(name)
        at_work = lock_holder(folder) is not None
        try:
            about = (folder / EVENTS).stat()
        except OSError:
            return 0, 0, at_work
        return about.st_ino, about.st_size, at_work

    def _row(self, name: RunName, state: LogState, end: float) -> Row:
        known = self._rows.get(name)
        if known is not None and not self._outdated(name, state):
            return known[1] | {"behind": False}
        folder = self.outputs.folder(name)
        if not state[-1] and (row := summary_row(folder)) is not None:
            self._rows[name] = state, row
            return row | {"behind": False}
        if (left := end - time.monotonic()) > 0:
            self._read(name, left)
        elif known is None or known[0] != state:
            self._enqueue(name, state)
        known = self._rows.get(name)
        if known is None:
            return _reading_row(folder) | {"behind": False}
        return known[1] | {"behind": _is_older(known[0], state)}

    def _outdated(self, name: RunName, state: LogState) -> bool:
        known = self._rows.get(name)
        return known is None or known[0] != state or known[1]["status"] == "unreadable"

    def _read(self, name: RunName, patience: float) -> None:
        """Read a log for some time; one that cannot be read has a row too.

        Raises:
            NotFound: there is no such run.
        """
        try:
            self.snapshot(name, patience)
        except DataError as error:
            row = unreadable_row(self.outputs.folder(name), error.message)
            self._rows[name] = self.log_state(name), row

    def _enqueue(self, name: RunName, state: LogState) -> None:
        """Have a log read on; short ones first.

        One log at a time is then partly read, so that none is dropped before it is read to its end.
        """
        if name not in self._queued:
            self._queued.add(name)
            self._queue.put((state[1], name.key, name))

    def _open_log(self, name: RunName, folder: Path) -> _OpenLog:
        with self._lock:
            opened = self._open_logs.get(name)
            if opened is None or opened.reading.outdated:
                opened = self._open_logs[name] = _OpenLog(RunLog(folder))
            self._open_logs.move_to_end(name)
            while len(self._open_logs) > 1 and self._too_many:
                self._open_logs.popitem(last=False)
            return opened

    @property
    def _too_many(self) -> bool:
        attempts = sum(opened.attempts for opened in self._open_logs.values())
        return len(self._open_logs) > MOST_OPEN or attempts > MOST_ATTEMPTS


def _is_older(read: LogState, state: LogState) -> bool:
    """Whether a log was read in an older state than `state`; a run at work may have more by now."""
    return (read[0], read[-1]) != (state[0], state[-1]) or read[1] < state[1]


def _reading_row(folder: Path) -> Row:
    """The row of a run whose log is not read yet: it has a place in the list by its time."""
    updated = None
    with suppress(OSError):  # gone since it was begun
        updated = (folder / EVENTS).stat().st_mtime
    return run_row(folder, RunView()) | {"status": "reading", "updated": updated}


def _read_until(reading: RunLog, end: float) -> bool:
    """Read until a time of the monotonic clock; returns whether the whole log is read."""
    while reading.advance():
        if time.monotonic() >= end:
            return reading.share >= 1.0
    return True


@contextmanager
def _acquired(lock: Lock, patience: float) -> Iterator[bool]:
    acquired = lock.acquire(timeout=patience)
    try:
        yield acquired
    finally:
        if acquired:
            lock.release()
