"""Minibatches: the trajectories that one analyst reads, failures and successes apart. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt_cli.core.edits import Source
from skillopt_cli.core.score import Trajectory


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Trajectories for one analyst, all failures or all successes, in the step's order."""

    source: Source
    index: int
    trajectories: tuple[Trajectory, ...]

    @property
    def name(self) -> str:
        """The file its patch is kept under."""
        return f"minibatch_{'fail' if self.source == 'failure' else 'succ'}_{self.index:03d}"


class MinibatchSorter:
    """Sorts trajectories into minibatches as they come in; broken attempts are left out.

    Args:
        size: trajectories of a full minibatch.
        sources: what is read; trajectories of another source are left out too.
    """

    def __init__(self, size: int, sources: Sequence[Source]) -> None:
        self._size = size
        self._open: dict[Source, list[Trajectory]] = {source: [] for source in sources}
        self._full = Counter[Source]()

    def take(self, trajectory: Trajectory) -> Minibatch | None:
        """The minibatch that the next trajectory fills."""
        source: Source = "failure" if trajectory.failed else "success"
        if trajectory.score is None or source not in self._open:
            return None
        group = self._open[source]
        group.append(trajectory)
        if len(group) < self._size:
            return None
        filled = Minibatch(source, self._full[source], tuple(group))
        self._full[source] += 1
        group.clear()
        return filled

    @property
    def rest(self) -> list[Minibatch]:
        """The minibatches that are not full."""
        begun = ((source, group) for source, group in self._open.items() if group)
        return [Minibatch(source, self._full[source], tuple(group)) for source, group in begun]
