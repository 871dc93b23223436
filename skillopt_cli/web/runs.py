"""The runs, each read once and then followed as its log grows."""

from __future__ import annotations

import logging
import queue
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock

from skillopt_cli.core.errors import DataError
from skillopt_cli.store.files import EVENTS
from skillopt_cli.store.lock import holder
from skillopt_cli.ui.listing import Row, run_row, unreadable_row
from skillopt_cli.ui.reading import Reading
from skillopt_cli.ui.view import RunView
from skillopt_cli.web.places import Missing, Named, Outputs

KEPT = 12
"""Runs whose logs are kept folded; of the others only their row in the list."""
PATIENCE = 0.02
"""Seconds a page spends on reading logs; what is left is read on between pages."""

_STRETCH = 0.01
"""Seconds spent on one log before another one that is wanted, or a page, has its turn."""

_LOG = logging.getLogger(__name__)

Mark = tuple[int, int, bool]
"""What a log looks like from outside: its file, its size, whether a process is at work."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as far as it is read.

    Attributes:
        at_work: whether a process is at work on it.
        facts: read so far.
        share: how much of the log is read, 1.0 for all.
    """

    name: Named
    folder: Path
    view: RunView
    at_work: bool
    facts: int
    share: float = 1.0

    @property
    def whole(self) -> bool:
        """Whether all of the log is read."""
        return self.share >= 1.0


@dataclass(slots=True)
class _Followed:
    reading: Reading
    lock: Lock


class Runs:
    """All runs of an outputs folder. May be asked from several threads.

    Args:
        patience: seconds a page may spend on reading logs.
    """

    def __init__(self, outputs: Outputs, patience: float = PATIENCE) -> None:
        self.outputs = outputs
        self._patience = patience
        self._followed: OrderedDict[Named, _Followed] = OrderedDict()
        self._rows: dict[Named, tuple[Mark, Row]] = {}
        self._lock = Lock()
        self._pages = 0
        self._no_page = Event()
        self._no_page.set()
        self._wanted: queue.SimpleQueue[Named | None] = queue.SimpleQueue()
        self._queued: set[Named] = set()
        self._closed = False

    def seen(self, name: Named, patience: float | None = None) -> Seen:
        """A run, read for no longer than `patience` seconds; what is left is read on later.

        Raises:
            Missing: there is no such run.
            DataError: its log cannot be read.
        """
        patience = self._patience if patience is None else patience
        folder = self.outputs.folder(name)
        # Asked first: a run that ends meanwhile has then stated its ending.
        mark = self.mark(name)
        followed = self._follow(name, folder)
        # Waiting for another who reads it counts as well.
        end = time.monotonic() + patience
        reading, done = followed.reading, False
        with _tried(followed.lock, patience) as mine:
            if mine:
                done = _advanced(reading, end)
            view = reading.seen(nobody=not mark[-1])
        if not done:
            self._want(name)
        elif (known := self._rows.get(name)) is None or known[0] != mark:
            self._rows[name] = mark, run_row(folder, view)
        share = 1.0 if done else min(reading.share, 0.999)
        return Seen(name, folder, view, mark[-1], reading.facts, share)

    def rows(self) -> list[Row]:
        """A row for each run; `status` is "reading" for one whose log is not read yet."""
        end = time.monotonic() + self._patience
        found = []
        names = self.outputs.names()
        for name in self._rows.copy().keys() - set(names):
            self._rows.pop(name, None)
        for name in names:
            with suppress(Missing):  # it was removed since it was listed
                found.append(self._row(name, end))
        return found

    @contextmanager
    def page(self) -> Iterator[None]:
        """While a page is made nothing is read on: reading is work, and would keep it waiting."""
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

    def read_on(self) -> None:
        """Read what pages had no time for, until `close`. For a thread of its own."""
        while (name := self._wanted.get()) is not None and not self._closed:
            self._queued.discard(name)
            self._no_page.wait()
            try:
                self.seen(name, _STRETCH)
            except (Missing, DataError):
                pass  # whoever opens its page is told
            # A bug, or a log that the operating system lets nobody read: of this run only.
            except Exception:
                _LOG.exception("the log of %s cannot be read on", name.key)

    def close(self) -> None:
        """Let `read_on` return soon."""
        self._closed = True
        self._wanted.put(None)

    def mark(self, name: Named) -> Mark:
        """What tells without reading whether there is something new.

        Raises:
            Missing: there is no such run.
        """
        folder = self.outputs.folder(name)
        at_work = holder(folder) is not None
        try:
            about = (folder / EVENTS).stat()
        except OSError:
            return 0, 0, at_work
        return about.st_ino, about.st_size, at_work

    def _row(self, name: Named, end: float) -> Row:
        known = self._rows.get(name)
        if known is not None and known[0] == self.mark(name):
            return known[1]
        try:
            self.seen(name, max(0.0, end - time.monotonic()))
        except DataError as error:
            return unreadable_row(self.outputs.folder(name), error.message)
        if (known := self._rows.get(name)) is not None:
            return known[1]
        return run_row(self.outputs.folder(name), RunView()) | {"status": "reading"}

    def _want(self, name: Named) -> None:
        if name not in self._queued:
            self._queued.add(name)
            self._wanted.put(name)

    def _follow(self, name: Named, folder: Path) -> _Followed:
        with self._lock:
            followed = self._followed.get(name)
            if followed is None or followed.reading.outdated:
                followed = self._followed[name] = _Followed(Reading(folder), Lock())
            self._followed.move_to_end(name)
            while len(self._followed) > KEPT:
                self._followed.popitem(last=False)
            return followed


def _advanced(reading: Reading, end: float) -> bool:
    """Read until a moment of the clock. Returns whether all was read."""
    while reading.advance():
        if time.monotonic() >= end:
            return reading.share >= 1.0
    return True


@contextmanager
def _tried(lock: Lock, patience: float) -> Iterator[bool]:
    mine = lock.acquire(timeout=patience)
    try:
        yield mine
    finally:
        if mine:
            lock.release()
