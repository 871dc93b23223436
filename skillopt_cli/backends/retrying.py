"""Calls tried again where that may help."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential,
)

from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.errors import TransientError
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend

OnRetry = Callable[[str, str, float], None]
"""Told the stage, the reason and the seconds until the next try."""


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
