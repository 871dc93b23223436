"""Pacing: each call waits until the model's pace lets it begin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.core.errors import RateLimited, TransientError
from skillopt_cli.core.pace import Begun, Pace
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend

OnChange = Callable[[int, float | None, str], None]
"""Told the calls in flight and per minute allowed from now on, and why."""

_LONGEST_WAIT = 60.0
"""Seconds of Retry-After up to which all wait here; beyond, each caller hears of it."""
_ALIKE = 0.1


class Pacer:
    """Keeps the pace of one model: all roles that ask it share one.

    Whoever came first begins first. A call that is cancelled, waiting or under way, gives its place
    back.

    Args:
        ceiling: most calls in flight.
        on_change: told of slow-downs, and of each doubling of rate or width after one.
    """

    def __init__(
        self, ceiling: int, on_change: OnChange = lambda in_flight, per_minute, reason: None
    ) -> None:
        self._pace = Pace.open(ceiling)
        self._on_change = on_change
        self._in_flight = 0
        self._first = asyncio.Lock()
        self._news = asyncio.Event()
        self._refusal = ""
        self._told_rate: float | None = None
        self._told_width = self._pace.breadth.width
        self._slowed = False

    def limit(self, ceiling: int) -> None:
        """Have another ceiling from now on."""
        self._pace = self._pace.under(ceiling)
        self._told_width = min(self._told_width, ceiling)
        self._news.set()

    async def enter(self) -> Begun:
        """Wait for this call's turn.

        Raises:
            RateLimited: the service wants everybody to wait for longer than a minute.
        """
        async with self._first:
            while (wait := self._wait()) is None or wait > 0:
                if wait is not None and wait > _LONGEST_WAIT:
                    raise RateLimited(self._refusal, retry_after=wait)
                self._news.clear()
                await self._hear(wait)
            now = _now()
            self._in_flight += 1
            self._become(self._pace.began(now, self._in_flight))
            return Begun(now, self._in_flight)

    def leave(self) -> None:
        """A call ended, however it did."""
        self._in_flight -= 1
        self._news.set()

    def answered(self, call: Begun, reply: ChatReply) -> None:
        """A call under way was answered."""
        usage = reply.usage
        tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        self._become(self._pace.answered(call, _now(), reply.limits, tokens))

    def failed(self, call: Begun, error: TransientError) -> None:
        """A call under way came to nothing."""
        if isinstance(error, RateLimited):
            self._refusal = error.message
            left = self._in_flight - 1
            self._become(self._pace.limited(call, _now(), error.retry_after, left))
        else:
            self._become(self._pace.failed(_now()))

    def _wait(self) -> float | None:
        """Seconds until the next call may begin; None where one must end first."""
        opens = self._pace.opens_at(self._in_flight)
        return None if opens is None else max(0.0, opens - _now())

    async def _hear(self, seconds: float | None) -> None:
        """Wait for news of the pace, at most some seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass

    def _become(self, pace: Pace) -> None:
        """Go on at another pace, and tell where that makes a difference."""
        slower = pace.cuts > self._pace.cuts
        self._pace = pace
        rate, told = pace.rate, self._told_rate
        if slower:
            alike = told == rate if told is None or rate is None else abs(rate / told - 1) < _ALIKE
            if not alike or pace.breadth.width < self._told_width:
                self._slowed = True
                self._tell("rate limited")
        elif (rate is not None and told is not None and rate >= 2 * told) or self._widened():
            self._tell("nothing was refused for a while")

    def _widened(self) -> bool:
        """Whether twice as many calls may be in flight as was told, or as many as ever may."""
        breadth, told = self._pace.breadth, self._told_width
        full = breadth.width == breadth.ceiling
        return self._slowed and breadth.width > told and (full or breadth.width >= 2 * told)

    def _tell(self, reason: str) -> None:
        rate, width = self._pace.rate, self._pace.breadth.width
        self._told_rate, self._told_width = rate, width
        self._on_change(width, None if rate is None else 60 * rate, reason)


class Paced(Wrapper):
    """A backend whose calls keep the pace, within the slots of their role and of the provider.

    A call waits for its role's slot first, then for the model's pace, then for the provider: so
    one that waits never holds what another role, or another model, needs.
    """

    def __init__(
        self,
        inner: ChatBackend,
        role: asyncio.Semaphore,
        provider: AbstractAsyncContextManager[None],
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
                self._pacer.answered(call, reply)
            except TransientError as error:
                self._pacer.failed(call, error)
                raise
            finally:
                self._pacer.leave()
            return reply


def _now() -> float:
    return asyncio.get_running_loop().time()
