"""All wrappers around a model, in their one order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from skillopt_cli.backends.limited import Limited
from skillopt_cli.backends.metered import Metered
from skillopt_cli.backends.retrying import Retrying
from skillopt_cli.backends.time_limited import TimeLimited
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.events import CallRetried, Role
from skillopt_cli.ports import ChatBackend, Emit


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How the calls of a role are made.

    Attributes:
        workers: most calls of the role in flight.
        timeout: seconds one try may take, waiting for a slot not counted.
    """

    role: Role
    workers: int
    timeout: float
    retry: RetryConfig


def stack(
    backend: ChatBackend, policy: CallPolicy, provider: asyncio.Semaphore, emit: Emit
) -> ChatBackend:
    """A backend with all wrappers around it but `Recorded`, which a first check must not ask.

    Args:
        provider: the ceiling shared by all roles that ask the same provider.
    """

    def retried(stage: str, reason: str, wait: float) -> None:
        emit(CallRetried(policy.role, stage, reason, wait))

    timed = TimeLimited(Metered(backend, policy.role, emit), policy.timeout)
    limited = Limited(timed, asyncio.Semaphore(policy.workers), provider)
    return Retrying(limited, policy.retry, retried)
