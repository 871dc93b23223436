"""Pacing: each call waits until the model's pace lets it begin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.core.errors import RateLimited, TransientError
from skillopt_cli.core.pace import Begun, Pace
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend

OnChange = Callable[[int, float | None, str], None]
"""Told the calls in flight and per minute allowed from now on, and why."""


class Pacer:
    """Keeps the pace of one model: all roles that ask it share one.

    Whoever came first begins first. A call that is cancelled, waiting or under way, gives its place
    back.

    Args:
        ceiling: most calls in flight.
        clock: seconds; None takes the event loop's.
    """

    def __init__(
        self,
        ceiling: int,
        on_change: OnChange = lambda in_flight, per_minute, reason: None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._pace = Pace.open(ceiling)
        self._on_change = on_change
        self._clock = clock
        self._in_flight = 0
        self._first = asyncio.Lock()
        self._news = asyncio.Event()
        self._told: float | None = None

    async def enter(self) -> Begun:
        """Wait for this call's turn."""
        async with self._first:
            while True:
                now = self._now()
                opens = self._pace.opens_at(self._in_flight)
                if opens is not None and opens <= now:
                    break
                self._news.clear()
                await self._hear(None if opens is None else opens - now)
            self._pace = self._pace.began(now)
            self._in_flight += 1
            return Begun(now, self._in_flight)

    def leave(self) -> None:
        """A call ended, however it did."""
        self._in_flight -= 1
        self._news.set()

    def replied(self, call: Begun, reply: ChatReply) -> None:
        """A call was answered."""
        usage, now = reply.usage, self._now()
        tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        self._pace = self._pace.replied(call, now, reply.limits, tokens)
        rate = self._pace.rate(now)
        if self._told is not None and rate is not None and rate >= 2 * self._told:
            self._tell(rate, "nothing was refused for a while")

    def failed(self, call: Begun, error: TransientError) -> None:
        """A call came to nothing."""
        now = self._now()
        if not isinstance(error, RateLimited):
            self._pace = self._pace.failed(now)
            return
        before = self._pace
        self._pace = before.limited(call, now, error.retry_after)
        if self._pace.cuts > before.cuts:
            self._tell(self._pace.rate(now), "rate limited")
        elif self._pace.refused == 1 > before.refused:
            self._tell(self._pace.rate(now), "rate limited, and nothing is answered")
        self._news.set()

    def _tell(self, rate: float | None, reason: str) -> None:
        self._told = rate
        self._on_change(self._pace.limit, None if rate is None else 60 * rate, reason)

    async def _hear(self, seconds: float | None) -> None:
        """Wait for news of the pace, at most some seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass

    def _now(self) -> float:
        return self._clock() if self._clock else asyncio.get_running_loop().time()


class Paced(Wrapper):
    """A backend whose calls keep the pace, within the slots of their role and of the provider.

    A call waits for its role's slot first, then for the model's pace, then for the provider: so
    one that waits never holds what another role, or another model, needs.
    """

    def __init__(
        self,
        inner: ChatBackend,
        role: asyncio.Semaphore,
        provider: asyncio.Semaphore,
        pacer: Pacer,
    ) -> None:
        super().__init__(inner)
        self._role = role
        self._provider = provider
        self._pacer = pacer

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply, once it is this call's turn."""
        async with self._role:
            call = await self._pacer.enter()
            try:
                async with self._provider:
                    reply = await self._inner.chat(request)
            except TransientError as error:
                self._pacer.failed(call, error)
                raise
            finally:
                self._pacer.leave()
            self._pacer.replied(call, reply)
            return reply
