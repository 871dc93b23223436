"""All wrappers around a model, in their one order."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from skillopt_cli.backends.budget import Budget, Budgeted
from skillopt_cli.backends.doors import Doors, Guarded
from skillopt_cli.backends.metered import Metered, Price, unknown
from skillopt_cli.backends.pacing import Paced, Pacer
from skillopt_cli.backends.retrying import Retrying
from skillopt_cli.backends.time_limited import TimeLimited
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.events import CallRetried, Role
from skillopt_cli.ports import ChatBackend


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How the calls of a role are made.

    Attributes:
        workers: most calls of the role in flight.
        timeout: seconds one try may take; waiting for a slot or at doors is not counted.
        price: of one call.
    """

    role: Role
    workers: int
    timeout: float
    retry: RetryConfig
    price: Price = unknown


@dataclass(frozen=True, slots=True)
class Shared:
    """What the calls of a role share with those of others.

    Attributes:
        provider: slots of all roles that ask the same provider.
        pacer: that of all roles that ask the same model.
        budget: that of the run; also told what happens to calls.
        doors: those of the run, which the user closes.
    """

    provider: AbstractAsyncContextManager[None]
    pacer: Pacer
    budget: Budget
    doors: Doors


def stack(backend: ChatBackend, policy: CallPolicy, shared: Shared) -> ChatBackend:
    """A backend with all wrappers around it but `Recorded`, which a first check must not ask.

    A call gets its slot, is admitted by the budget, then passes the doors: the budget counts as in
    flight what the user's doors hold back, which is right, since no more is begun behind those.
    """
    budget = shared.budget

    def retried(stage: str, reason: str, wait: float) -> None:
        budget.tell(CallRetried(policy.role, stage, reason, wait))

    timed = TimeLimited(backend, policy.timeout)
    guarded = Guarded(Metered(timed, policy.role, budget.tell, policy.price), shared.doors)
    budgeted = Budgeted(guarded, policy.role, budget)
    slots = asyncio.Semaphore(policy.workers)
    paced = Paced(budgeted, slots, shared.provider, shared.pacer)
    return Retrying(paced, policy.retry, retried)
