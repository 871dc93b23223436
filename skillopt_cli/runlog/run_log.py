"""The log of a run folder, folded as it is read: each line is parsed once."""

from __future__ import annotations

from pathlib import Path

from skillopt_cli.core.copies import changed
from skillopt_cli.core.events import Stamped
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.snapshot import read_snapshot
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.event_log import LogTail
from skillopt_cli.store.lock import lock_holder


def read_view(folder: Path) -> RunView:
    """The read model of a run folder; empty for a folder without a log.

    Raises:
        DataError: a line of the log cannot be read.
    """
    # Asked first: a run that ends meanwhile has then stated its ending.
    nobody = lock_holder(folder) is None
    return RunLog(folder).read().seen(nobody=nobody)


class RunLog:
    """A run's log and what its facts add up to.

    A reader advances through the file, also while it grows. The process that writes the run reads
    the file once, then calls the log with each fact it appends.

    Attributes:
        view: what the facts so far add up to.
        facts: how many there are.
        number: of the last one, 0 before the first.
        kept: how many of them the snapshot held that was read.
    """

    def __init__(self, folder: Path) -> None:
        self.view = RunView()
        self.facts = 0
        self.number = 0
        self.kept = 0
        self._tail = LogTail(folder)
        self._folder = folder

    def __call__(self, fact: Stamped) -> None:
        """Take in a fact that was just appended."""
        self._take([fact])

    def read(self) -> RunLog:
        """Read what is left of the file.

        Raises:
            DataError: a line of the log cannot be read.
        """
        while self.advance():
            pass
        return self

    def advance(self) -> bool:
        """Read a stretch of the file. Returns whether there was something to read.

        Raises:
            DataError: a line of the log cannot be read.
        """
        if not self.facts and (known := read_snapshot(self._folder)):
            self.view, self.facts, self.number = known.view, known.facts, known.number
            self.kept = known.facts
            self._tail.skip(known.size, known.facts)
        facts = self._tail.read()
        self._take(facts)
        return bool(facts)

    @property
    def outdated(self) -> bool:
        """Whether another file replaced the log that was read."""
        return self._tail.replaced

    @property
    def share(self) -> float:
        """How much of the log is read; 1.0 for all."""
        return self._tail.share

    def seen(self, *, nobody: bool) -> RunView:
        """The view so far.

        Args:
            nobody: whether no process was at work before the last reading.
        """
        view = self.view
        return changed(view, deserted=nobody and view.run is not None and view.ending is None)

    def _take(self, facts: list[Stamped]) -> None:
        self.view = fold(facts, self.view)
        self.facts += len(facts)
        self.number = facts[-1].number if facts else self.number
