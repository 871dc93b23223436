"""Limits that the roles of a run share: concurrency per provider, rate per model, budget, gate."""

from __future__ import annotations

from urllib.parse import urlsplit

from skillopt_cli.backends.middleware.budget import Budget
from skillopt_cli.backends.middleware.stack import SharedLimits
from skillopt_cli.backends.rate_limiter.limiter import Provider, RateLimiter
from skillopt_cli.backends.rate_limiter.stop_gate import StopGate
from skillopt_cli.core.events import PaceChanged
from skillopt_cli.ports import RoleSettings


class ProviderLimits:
    """Creates one rate limiter per model, shared between roles, under a ceiling per provider.

    Args:
        ceiling: maximum of calls in flight per provider.
        outage_wait: seconds that calls wait for a service that answers nothing but failures.
        budget: also receives changes of rate and concurrency.
    """

    def __init__(
        self, ceiling: int, outage_wait: float, budget: Budget, stop_gate: StopGate
    ) -> None:
        self._ceiling = ceiling
        self._outage_wait = outage_wait
        self._budget = budget
        self._stop_gate = stop_gate
        self._providers: dict[tuple[str, str], Provider] = {}
        self._limiters: dict[tuple[str, str, str], RateLimiter] = {}

    def for_role(self, backend: str, settings: RoleSettings) -> SharedLimits:
        """Return the limits of the role's provider and model."""
        key = (backend, settings.base_url)
        provider = self._providers.setdefault(key, Provider(self._ceiling))
        model, host = settings.model, _host(settings.base_url)
        name = f"{backend}@{host}" if host else backend

        def report(in_flight: int, per_minute: float | None, reason: str) -> None:
            self._budget.emit(PaceChanged(name, model, in_flight, per_minute, reason))

        if (*key, model) not in self._limiters:
            self._limiters[(*key, model)] = RateLimiter(provider, report, self._outage_wait)
        return SharedLimits(self._limiters[(*key, model)], self._budget, self._stop_gate)

    def set_ceiling(self, ceiling: int) -> None:
        """Set another maximum of calls in flight for every provider."""
        self._ceiling = ceiling
        for limiter in self._limiters.values():
            limiter.set_ceiling(ceiling)


def _host(base_url: str) -> str:
    """Host and port of an address, without anything that may be secret."""
    parts = urlsplit(base_url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname or ''}{port}"
