"""Where the trials of a sweep come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from skillopt_cli.sweeps.trials import Trial
from skillopt_cli.ui.view import RunView


class Source(Protocol):
    """Gives out trials, and hears what became of them."""

    watches: bool
    """Whether it wants to see runs at work."""

    @property
    def trials(self) -> Sequence[Trial]:
        """Those given out so far, in their order, those of earlier sweeps included."""

    @property
    def abandoned(self) -> set[str]:
        """Run ids of those that are not to be taken up."""

    def more(self) -> Sequence[Trial]:
        """Further trials; empty when there are none."""

    def dropped(self, trial: Trial, view: RunView) -> bool:
        """Whether a run at work is not worth going on with."""

    def ended(self, trial: Trial, view: RunView) -> None:
        """Take in what a run came to."""


class Listed:
    """Trials that are all known beforehand."""

    watches = False

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._waiting = list(trials)
        self.trials: list[Trial] = []

    @property
    def abandoned(self) -> set[str]:
        """None."""
        return set()

    def more(self) -> Sequence[Trial]:
        """All of them, once."""
        given, self._waiting = self._waiting, []
        self.trials += given
        return given

    def dropped(self, trial: Trial, view: RunView) -> bool:
        """Never."""
        return False

    def ended(self, trial: Trial, view: RunView) -> None:
        """Nothing follows from it."""
