"""A run as its folder tells it: once, or followed while it grows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from skillopt_cli.store.lock import holder
from skillopt_cli.store.tail import Tail
from skillopt_cli.ui.folding import fold
from skillopt_cli.ui.view import RunView


def read_view(folder: Path) -> RunView:
    """What the facts of a run folder add up to; empty for a folder without a log.

    Raises:
        DataError: a line of the log cannot be read.
    """
    reading = Reading(folder)
    # Asked first: a run that ends meanwhile has then stated its ending.
    nobody = holder(folder) is None
    while reading.advance():
        pass
    return reading.seen(nobody=nobody)


class Reading:
    """The log of a run folder, folded as far as it is read.

    Attributes:
        facts: read so far.
    """

    def __init__(self, folder: Path) -> None:
        self.facts = 0
        self._tail = Tail(folder)
        self._view = RunView()

    @property
    def outdated(self) -> bool:
        """Whether the folder's log was put in the place of the one that was read."""
        return self._tail.replaced

    @property
    def share(self) -> float:
        """How much of the log is read; 1.0 for all."""
        return self._tail.share

    def advance(self) -> bool:
        """Read a stretch of the log. Returns whether there was something to read.

        Raises:
            DataError: a line of the log cannot be read.
        """
        facts = self._tail.read()
        self._view = fold(facts, self._view)
        self.facts += len(facts)
        return bool(facts)

    def seen(self, *, nobody: bool) -> RunView:
        """The view so far.

        Args:
            nobody: whether no process was at work before the last reading.
        """
        view = self._view
        return replace(view, deserted=nobody and view.run is not None and view.ending is None)
