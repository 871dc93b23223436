"""Retries of failed calls, and the time limit of a call."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.errors import CallTimedOut, RateLimited, TransientError
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend

OnRetry = Callable[[str, str, float], None]
"""Receives the stage, the reason and the seconds until the next try."""

_MOST_DOUBLINGS = 60


class Retrying(Wrapper):
    """Retries calls that fail with a `TransientError`.

    Waits as long as the server asks, or else exponentially with jitter: half to all of the nominal
    wait, so that calls that failed together do not return together. There is no wait after a
    `RateLimited` without one, since the inner rate limiter delays the next try. Raises the last
    error when attempts are used up, or when the next try would begin more than `total_seconds`
    after the first failure. A `RateLimited` counts as time only, not as an attempt. With a single
    attempt there are no retries.
    """

    def __init__(
        self,
        inner: ChatBackend,
        config: RetryConfig,
        on_retry: OnRetry = lambda stage, reason, wait: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = lambda: asyncio.get_running_loop().time(),
    ) -> None:
        super().__init__(inner)
        self._config = config
        self._on_retry = on_retry
        self._sleep = sleep
        self._clock = clock

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the inner reply of the first successful try."""
        schedule: _RetrySchedule | None = None
        while True:
            try:
                return await self._inner.chat(request)
            except TransientError as error:
                schedule = schedule or _RetrySchedule(self._config, self._clock())
                wait = schedule.wait(error)
                if schedule.ends(self._clock() + wait):
                    raise
                reason = " ".join(str(error).split())
            self._on_retry(request.stage, reason, wait)
            await self._sleep(wait)


class _RetrySchedule:
    """When to retry one call, and when to give up.

    Args:
        first_at: time of the first failure.
    """

    def __init__(self, config: RetryConfig, first_at: float) -> None:
        self._config = config
        self._first_at = first_at
        self._failures = 0

    def wait(self, error: TransientError) -> float:
        """Seconds until a next try; called once after every failure."""
        asked = error.retry_after
        if isinstance(error, RateLimited):
            return asked or 0.0
        self._failures += 1
        if asked is not None:
            return asked
        doubled = 2.0 ** min(self._failures - 1, _MOST_DOUBLINGS)
        nominal = min(self._config.base_seconds * doubled, self._config.max_seconds)
        return nominal * random.uniform(0.5, 1.0)

    def ends(self, next_at: float) -> bool:
        """Whether there is no further try, at this time."""
        attempts = self._config.max_attempts
        if attempts == 1 or self._failures >= attempts:
            return True
        return next_at > self._first_at + self._config.total_seconds


class TimeLimited(Wrapper):
    """Cancels a call after `seconds`."""

    def __init__(self, inner: ChatBackend, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the inner reply.

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
