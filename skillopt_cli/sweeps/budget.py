"""The budget of a sweep: what its runs used, and the share of the rest that a run gets. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt_cli.config import RunConfig
from skillopt_cli.core.caps import Cap, Use
from skillopt_cli.runlog.view import RunView

Limits = Mapping[str, float]
"""Caps of a run over all its processes, by the name of the setting of `run`."""

_WHOLE = ("max_calls", "max_tokens", "max_rollouts")


def used_by(view: RunView) -> Use:
    """What a run used, over all its processes."""
    return Use(view.ledger, view.wall_time / 60)


@dataclass(slots=True)
class SweepBudget:
    """What the runs of a sweep used and may still use.

    A running run counts with all that it may use, so that parallel runs exceed a cap by no more
    than the calls in flight.

    Args:
        caps: over all runs.
    """

    caps: tuple[Cap, ...]
    _used: dict[str, Use] = field(default_factory=dict)
    _granted: dict[str, Limits] = field(default_factory=dict)

    def record(self, run_id: str, view: RunView) -> None:
        """Store what a run that has stopped used."""
        self._used[run_id] = used_by(view)
        self._granted.pop(run_id, None)

    def reserve(self, run_id: str, limits: Limits) -> None:
        """Reserve what a running run may use."""
        self._granted[run_id] = limits

    def spent(self, cap: str) -> float:
        """What all runs used of a cap; for a running one, what it may use."""
        runs = {*self._used, *self._granted}
        return sum(self._counted(run_id, cap) for run_id in runs)

    def share(self, run_id: str, config: RunConfig, sharers: int) -> Limits | None:
        """The limits of a run; None when nothing is left for it.

        Args:
            config: the run's configuration, whose own caps also apply.
            sharers: number of runs that share the rest, this one included.
        """
        limits: dict[str, float] = {}
        for cap in self.caps:
            own = self._used[run_id].of(cap.name) if run_id in self._used else 0.0
            share = (cap.limit - self.spent(cap.name)) / sharers
            limit = int(own + share) if cap.name in _WHOLE else own + share
            if limit <= own:
                return None
            limits[cap.name] = min(filter(None, (limit, getattr(config.run, cap.name))))
        return limits

    def _counted(self, run_id: str, cap: str) -> float:
        granted = self._granted.get(run_id, {})
        if cap in granted:
            return granted[cap]
        return self._used[run_id].of(cap) if run_id in self._used else 0.0
