"""The rate limiter of a model: delays each call until its limits allow it to begin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.backends.rate_limiter.adaptive import AdaptiveLimits, StartedCall
from skillopt_cli.backends.rate_limiter.outage import Outage
from skillopt_cli.core.errors import RateLimited, TransientError
from skillopt_cli.core.events import OUTAGE
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend

OnChange = Callable[[int, float | None, str], None]
"""Receives the calls allowed in flight and per minute from now on, and the reason."""

_LONGEST_WAIT = 60.0
"""Seconds of Retry-After up to which calls wait here; a longer wait is raised to the caller."""
_ALIKE = 0.1


class Provider:
    """The calls in flight to one provider, of all its models.

    Attributes:
        ceiling: their maximum.
        changed: set whenever a waiting call should look again whether it may begin.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.in_flight = 0
        self.changed = asyncio.Event()


class RateLimiter:
    """Limits the rate and concurrency of one model; roles that use the same model share it.

    Calls begin in order of arrival. A call that is cancelled while waiting or in flight frees its
    place.

    Args:
        provider: whose ceiling holds for this model and its others together.
        on_change: receives each slow-down, each doubling of rate or concurrency after one, and the
            beginning and the end of an outage.
        outage_wait: seconds that calls wait for a service that answers nothing but failures.
    """

    def __init__(
        self,
        provider: Provider,
        on_change: OnChange = lambda in_flight, per_minute, reason: None,
        outage_wait: float = 0.0,
    ) -> None:
        self._provider = provider
        self._limits = AdaptiveLimits(provider.ceiling)
        self._outage = Outage(outage_wait)
        self._on_change = on_change
        self._first = asyncio.Lock()
        self._refusal = ""
        self._decreases = 0
        self._reported_rate: float | None = None
        self._reported_width = self._limits.width
        self._slowed = False

    @property
    def in_flight(self) -> int:
        """Calls in flight."""
        return self._limits.in_flight

    def set_ceiling(self, ceiling: int) -> None:
        """Set another maximum of calls in flight."""
        self._provider.ceiling = self._limits.ceiling = ceiling
        self._reported_width = min(self._reported_width, ceiling)
        self._provider.changed.set()

    def clock(self) -> float:
        """Seconds that stand still during an outage."""
        outage, now = self._outage, _now()
        return now - outage.waited - (0.0 if outage.since is None else now - outage.since)

    async def enter(self) -> StartedCall:
        """Wait for this call's turn.

        Raises:
            RateLimited: the service asks for a wait of more than a minute.
        """
        async with self._first:
            while (wait := self._wait()) is None or wait > 0:
                if wait is not None and wait > _LONGEST_WAIT:
                    raise RateLimited(self._refusal, retry_after=wait)
                self._provider.changed.clear()
                try:
                    async with asyncio.timeout(wait):
                        await self._provider.changed.wait()
                except TimeoutError:
                    pass
            call = self._limits.began(_now())
            self._provider.in_flight += 1
            self._outage.began(call.at)
            self._report_changes()
            return call

    def leave(self, call: StartedCall) -> None:
        """Count a call as ended, successful or not."""
        self._limits.ended(call)
        self._provider.in_flight -= 1
        self._outage.left(call.at)
        self._provider.changed.set()

    def answered(self, call: StartedCall, request: ChatRequest, reply: ChatReply) -> None:
        """Learn from an answered call."""
        usage = reply.usage
        tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        self._limits.answered(call, _now(), reply.limits, tokens)
        self._end_outage(call, request)
        self._report_changes()

    def failed(self, call: StartedCall, request: ChatRequest, error: TransientError) -> bool:
        """Learn from a failed call; whether it failed in an outage, whose end it can wait for."""
        now, out = _now(), self._outage.since
        if isinstance(error, RateLimited):
            self._refusal = error.message
            self._limits.refused(call, now, error.retry_after)
            self._report_changes()
            return False
        if error.usage is not None:
            # The service is at work, though its answer is of no use; each further try is paid.
            self._end_outage(call, request)
            return False
        self._outage.failed(id(request), call.at, now, error.retry_after)
        if out is None and self._outage.since is not None:
            wait = f"{self._outage.wait / 60:g} min"
            self._on_change(1, None, f"{OUTAGE}: calls wait up to {wait} while one tries again")
        elif out is not None and self._outage.since is None:
            self._report(f"no answer for {now - out:.0f} s: calls fail from now on")
        return self._outage.since is not None

    def _end_outage(self, call: StartedCall, request: ChatRequest) -> None:
        """Note an answer to a request; report the end of an outage."""
        now, out = _now(), self._outage.since
        self._outage.answered(id(request), call.at, now)
        if out is not None:
            self._report(f"the service answers again after {now - out:.0f} s")

    def _wait(self) -> float | None:
        """Seconds until the next call may begin; None if a call must end first."""
        opens, probes = self._limits.opens_at(), self._outage.opens_at()
        if opens is None or probes is None or self._provider.in_flight >= self._provider.ceiling:
            return None
        return max(0.0, max(opens, probes) - _now())

    def _report_changes(self) -> None:
        """Report a noticeable change of the limits."""
        rate, reported = self._limits.rate, self._reported_rate
        slower = self._limits.decreases > self._decreases
        self._decreases = self._limits.decreases
        if slower:
            if not _alike(rate, reported) or self._limits.width < self._reported_width:
                self._slowed = True
                self._report("rate limited")
        elif reported is not None and rate is None:
            self._report("refusals do not depend on the load")
        elif _doubled(rate, reported) or self._widened():
            self._report("nothing was refused for a while")

    def _widened(self) -> bool:
        """Whether concurrency has doubled since the last report, or is back at the ceiling."""
        width, reported = self._limits.width, self._reported_width
        full = width == self._limits.ceiling
        return self._slowed and width > reported and (full or width >= 2 * reported)

    def _report(self, reason: str) -> None:
        rate, width = self._limits.rate, self._limits.width
        self._reported_rate, self._reported_width = rate, width
        self._on_change(width, None if rate is None else 60 * rate, reason)


class Limited(Wrapper):
    """A backend whose calls are limited per role and per model, and wait for the end of outages.

    A call acquires its role's semaphore first, then the model's rate limiter, so that a waiting
    call holds nothing another model needs.

    Args:
        patient: whether calls that failed in an outage are made again after it.
    """

    def __init__(
        self,
        inner: ChatBackend,
        role: asyncio.Semaphore,
        limiter: RateLimiter,
        *,
        patient: bool = True,
    ) -> None:
        super().__init__(inner)
        self._role = role
        self._limiter = limiter
        self._patient = patient

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the inner reply, after waiting for this call's turn."""
        while True:
            async with self._role:
                call = await self._limiter.enter()
                try:
                    reply = await self._inner.chat(request)
                    self._limiter.answered(call, request, reply)
                    return reply
                except TransientError as error:
                    if not self._limiter.failed(call, request, error) or not self._patient:
                        raise
                finally:
                    self._limiter.leave(call)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _alike(rate: float | None, other: float | None) -> bool:
    if rate is None or other is None:
        return rate == other
    return abs(rate / other - 1) < _ALIKE


def _doubled(rate: float | None, before: float | None) -> bool:
    return rate is not None and before is not None and rate >= 2 * before
