"""The lanes to the models of a run: slots, pace, budget and doors that roles may share."""

from __future__ import annotations

from urllib.parse import urlsplit

from skillopt_cli.backends.budget import Budget
from skillopt_cli.backends.doors import Doors
from skillopt_cli.backends.pacing import OnChange, Pacer
from skillopt_cli.backends.slots import Slots
from skillopt_cli.backends.stack import Shared
from skillopt_cli.core.events import PaceChanged
from skillopt_cli.ports import RoleSettings


class Lanes:
    """Makes each lane once: roles that ask the same model share its pace and slots.

    Args:
        ceiling: most calls in flight per provider.
        budget: also told how the pace changes.
    """

    def __init__(self, ceiling: int, budget: Budget, doors: Doors) -> None:
        self._ceiling = ceiling
        self._budget = budget
        self._doors = doors
        self._slots: dict[tuple[str, str], Slots] = {}
        self._pacers: dict[tuple[str, str, str], Pacer] = {}

    def to(self, backend: str, settings: RoleSettings) -> Shared:
        """The lane to a role's model."""
        address = (backend, settings.base_url)
        slots = self._slots.setdefault(address, Slots(self._ceiling))
        place = (*address, settings.model)
        if place not in self._pacers:
            self._pacers[place] = Pacer(self._ceiling, self._teller(*place))
        return Shared(slots, self._pacers[place], self._budget, self._doors)

    def limit(self, ceiling: int) -> None:
        """Have another ceiling from now on, in every lane."""
        self._ceiling = ceiling
        for slots in self._slots.values():
            slots.resize(ceiling)
        for pacer in self._pacers.values():
            pacer.limit(ceiling)

    def _teller(self, backend: str, base_url: str, model: str) -> OnChange:
        host = _host(base_url)
        provider = f"{backend}@{host}" if host else backend

        def tell(in_flight: int, per_minute: float | None, reason: str) -> None:
            self._budget.tell(PaceChanged(provider, model, in_flight, per_minute, reason))

        return tell


def _host(base_url: str) -> str:
    """Host and port of an address, without anything that may be secret."""
    parts = urlsplit(base_url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname or ''}{port}"
