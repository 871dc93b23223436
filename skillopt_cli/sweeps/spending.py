"""Caps over a whole sweep: what its runs used, and how much of the rest a run may have. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt_cli.config import RunConfig
from skillopt_cli.core.caps import FLAGS, Cap, Use
from skillopt_cli.sweeps.sections import Caps
from skillopt_cli.ui.view import RunView

Limits = Mapping[str, float]
"""Caps of a run, over all its processes, by the name of the setting of `run`."""

_WHOLE = ("max_calls", "max_tokens", "max_rollouts")


def caps_of(caps: Caps) -> tuple[Cap, ...]:
    """The caps that are set."""
    limits = {name: getattr(caps, name) for name in FLAGS}
    return tuple(Cap(name, limit) for name, limit in limits.items() if limit is not None)


def used_by(view: RunView) -> Use:
    """What a run used, over all its processes."""
    return Use(view.ledger, view.wall_time / 60)


@dataclass(slots=True)
class Purse:
    """What the runs of a sweep used and may still use.

    A run at work counts with all that it may use, so that those at work together never pass a cap
    by more than calls in flight do.

    Args:
        caps: over all runs.
    """

    caps: tuple[Cap, ...]
    _used: dict[str, Use] = field(default_factory=dict)
    _granted: dict[str, Limits] = field(default_factory=dict)

    def knows(self, run_id: str, view: RunView) -> None:
        """Take in what a run used that is not at work."""
        self._used[run_id] = used_by(view)
        self._granted.pop(run_id, None)

    def at_work(self, run_id: str, limits: Limits) -> None:
        """Keep back what a run at work may use."""
        self._granted[run_id] = limits

    def spent(self, cap: str) -> float:
        """What all runs used of a cap; of one at work, what it may use."""
        runs = {*self._used, *self._granted}
        return sum(self._counted(run_id, cap) for run_id in runs)

    def share(self, run_id: str, config: RunConfig, sharers: int) -> Limits | None:
        """What a run may use of each cap; None when nothing is left for it.

        Args:
            config: its own, whose caps hold as well.
            sharers: runs that the rest is shared between, this one included.
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
