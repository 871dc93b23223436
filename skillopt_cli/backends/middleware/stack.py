"""The middleware around a model, in its fixed order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from skillopt_cli.backends.middleware.budget import Budget, Budgeted
from skillopt_cli.backends.middleware.metered import Metered, Price, unknown
from skillopt_cli.backends.middleware.reading import Reading
from skillopt_cli.backends.middleware.retrying import Retrying, TimeLimited
from skillopt_cli.backends.rate_limiter.limiter import Limited, RateLimiter
from skillopt_cli.backends.rate_limiter.stop_gate import Gated, StopGate
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.events import CallRetried, Role
from skillopt_cli.ports import ChatBackend


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How the calls of a role are made.

    Attributes:
        workers: maximum of the role's calls in flight.
        timeout: seconds per try, without the time spent waiting for limits or the stop gate.
        price: of one call.
        patient: whether calls wait for the end of an outage.
        backend: its name, for messages.
    """

    role: Role
    workers: int
    timeout: float
    retry: RetryConfig
    price: Price = unknown
    patient: bool = True
    backend: str = ""


@dataclass(frozen=True, slots=True)
class SharedLimits:
    """Limits that a role shares with other roles.

    Attributes:
        limiter: rate limiter of all roles that use the same model.
        budget: of the run; also receives the events of calls.
        stop_gate: of the run, closed by the user.
    """

    limiter: RateLimiter
    budget: Budget
    stop_gate: StopGate


def stack(backend: ChatBackend, policy: CallPolicy, shared: SharedLimits) -> ChatBackend:
    """Return a backend with all middleware except `Cached`, which a preflight must bypass.

    A call acquires its limits, is admitted by the budget, then passes the stop gate. The budget
    counts calls that wait at the gate as in flight, since they begin when the gate opens.
    """
    budget = shared.budget

    def retried(stage: str, reason: str, wait: float) -> None:
        budget.emit(CallRetried(policy.role, stage, reason, wait))

    timed = TimeLimited(backend, policy.timeout)
    read = Reading(timed, policy.role, budget.emit, policy.backend)
    guarded = Gated(Metered(read, policy.role, budget.emit, policy.price), shared.stop_gate)
    budgeted = Budgeted(guarded, policy.role, budget)
    workers = asyncio.Semaphore(policy.workers)
    patient = policy.patient and policy.retry.max_attempts > 1
    limited = Limited(budgeted, workers, shared.limiter, patient=patient)
    return Retrying(limited, policy.retry, retried, clock=shared.limiter.clock)
