"""Calls tried again where that may help."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.errors import RateLimited, TransientError
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend

OnRetry = Callable[[str, str, float], None]
"""Told the stage, the reason and the seconds until the next try."""

_MOST_DOUBLINGS = 60


class Retrying(Wrapper):
    """Tries again what a `TransientError` says may be mended.

    Waits as long as the server asks, else exponentially with jitter (half to all of the nominal
    wait, so that calls that failed together do not come back together); after a refusal for too
    many calls not at all, since the pacer within knows when there is room. Ends with the last error
    once attempts are used up, or when the next try would begin more than `total_seconds` after the
    first failure. Such refusals use up time only: they say nothing against the call. With a single
    attempt nothing is tried again.
    """

    def __init__(
        self,
        inner: ChatBackend,
        config: RetryConfig,
        on_retry: OnRetry = lambda stage, reason, wait: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(inner)
        self._config = config
        self._on_retry = on_retry
        self._sleep = sleep

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply of the first try that succeeds."""

        def announce(state: RetryCallState) -> None:
            reason = " ".join(str(_error(state)).split())
            self._on_retry(request.stage, reason, state.upcoming_sleep)

        patience = _Patience(self._config)
        tries = AsyncRetrying(
            sleep=self._sleep,
            stop=patience.ends,
            wait=patience.wait,
            retry=retry_if_exception_type(TransientError),
            before_sleep=announce,
            reraise=True,
        )
        return await tries(self._inner.chat, request)


class _Patience:
    """How long one call is tried, and the waits between."""

    def __init__(self, config: RetryConfig) -> None:
        self._config = config
        self._failures = 0
        self._first_at: float | None = None

    def wait(self, state: RetryCallState) -> float:
        """Seconds until the next try, were there one; asked once after every failure."""
        error = _error(state)
        asked = error.retry_after if isinstance(error, TransientError) else None
        if isinstance(error, RateLimited):
            return asked or 0.0
        self._failures += 1
        if asked is not None:
            return asked
        doubled = 2.0 ** min(self._failures - 1, _MOST_DOUBLINGS)
        nominal = min(self._config.base_seconds * doubled, self._config.max_seconds)
        return nominal * random.uniform(0.5, 1.0)

    def ends(self, state: RetryCallState) -> bool:
        """Whether the failure was the last."""
        now = asyncio.get_running_loop().time()
        if self._first_at is None:
            self._first_at = now
        attempts = self._config.max_attempts
        if attempts == 1 or self._failures >= attempts:
            return True
        return now + state.upcoming_sleep > self._first_at + self._config.total_seconds


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None
