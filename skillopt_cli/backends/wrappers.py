"""Backends around a backend: recorded, retried, limited, timed and metered calls."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Self
from weakref import WeakValueDictionary

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential,
)

from skillopt_cli.config.sections import RetryConfig
from skillopt_cli.core.errors import CallTimedOut, TransientError
from skillopt_cli.core.events import CallMade, CallRetried, Role
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend, Emit, Store

OnRetry = Callable[[str, str, float], None]
"""Told the stage, the reason and the seconds until the next try."""


class Wrapper:
    """A `ChatBackend` that is its inner one in everything but `chat`.

    As an async context manager it opens and closes the inner backend, where that is one.
    """

    def __init__(self, inner: ChatBackend) -> None:
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.offers = inner.offers
        self._inner = inner
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if isinstance(self._inner, AbstractAsyncContextManager):
            await self._opened.enter_async_context(self._inner)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()


class Metered(Wrapper):
    """Emits `CallMade` for every answered call."""

    def __init__(self, inner: ChatBackend, role: Role, emit: Emit) -> None:
        super().__init__(inner)
        self._role: Role = role
        self._emit = emit

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply, accounted for."""
        reply = await self._inner.chat(request)
        self._emit(CallMade(self._role, request.stage, reply.usage))
        return reply


class TimeLimited(Wrapper):
    """Ends a call after `seconds`; nothing of it goes on behind."""

    def __init__(self, inner: ChatBackend, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply.

        Raises:
            CallTimedOut: it took longer than the limit.
        """
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await self._inner.chat(request)
        except TimeoutError:
            if not limit.expired():
                raise
        raise CallTimedOut(
            f"model `{self.name}` did not answer within {self._seconds:g} s",
            "raise model.timeout, or look at the server",
        )


class Limited(Wrapper):
    """Bounds the calls in flight, per role and per provider.

    A call waits for its role's slot first: one that waits then holds nothing another role needs.
    """

    def __init__(
        self, inner: ChatBackend, role: asyncio.Semaphore, provider: asyncio.Semaphore
    ) -> None:
        super().__init__(inner)
        self._slots = (role, provider)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply, once there is a slot."""
        role, provider = self._slots
        async with role, provider:
            return await self._inner.chat(request)


class Retrying(Wrapper):
    """Tries again what a `TransientError` says may be mended.

    Waits as long as the server asks, else exponentially with jitter (half to all of the nominal
    wait, so that calls that failed together do not come back together). Ends with the last error
    once attempts are used up, or when the next try would begin after `total_seconds`.
    """

    def __init__(
        self,
        inner: ChatBackend,
        config: RetryConfig,
        on_retry: OnRetry = lambda stage, reason, wait: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(inner)
        self._on_retry = on_retry
        self._sleep = sleep
        self._backoff = wait_exponential(multiplier=config.base_seconds, max=config.max_seconds)
        self._stop = stop_after_attempt(config.max_attempts) | stop_before_delay(
            config.total_seconds
        )

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply of the first try that succeeds."""

        def announce(state: RetryCallState) -> None:
            reason = " ".join(str(_error(state)).split())
            self._on_retry(request.stage, reason, state.upcoming_sleep)

        tries = AsyncRetrying(
            sleep=self._sleep,
            stop=self._stop,
            wait=self._wait,
            retry=retry_if_exception_type(TransientError),
            before_sleep=announce,
            reraise=True,
        )
        return await tries(self._inner.chat, request)

    def _wait(self, state: RetryCallState) -> float:
        error = _error(state)
        if isinstance(error, TransientError) and error.retry_after is not None:
            return error.retry_after
        return self._backoff(state) * random.uniform(0.5, 1.0)


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


class Recorded(Wrapper):
    """Answers from the journal what was answered before; journals what is new.

    A reply is in the journal before anyone sees it. Equal requests at the same time are one call.
    """

    def __init__(self, inner: ChatBackend, store: Store) -> None:
        super().__init__(inner)
        self._store = store
        # One per request in flight, so that the second of two equal ones finds the first's reply.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The journaled reply, else the inner one."""
        key = call_key(self.fingerprint, request)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            known = self._store.recall_call(key)
            if known is not None:
                return known
            reply = await self._inner.chat(request)
            self._store.remember_call(key, reply)
            return reply


def call_key(fingerprint: str, request: ChatRequest) -> str:
    """Hex SHA-256 of who is asked and what."""
    return hashlib.sha256(f"{fingerprint}\n{request.identity}".encode()).hexdigest()


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
