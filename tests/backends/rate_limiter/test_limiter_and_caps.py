"""Calls that wait for their pace, when a cap is reached or a service asks for a long wait."""

import asyncio

import pytest
from virtual_time import in_virtual_time

from skillopt_cli.backends.middleware.budget import Budget, PastUse
from skillopt_cli.backends.middleware.stack import CallPolicy, SharedLimits, stack
from skillopt_cli.backends.rate_limiter.limiter import Limited, Provider, RateLimiter
from skillopt_cli.backends.rate_limiter.stop_gate import StopGate
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.caps import Cap
from skillopt_cli.core.errors import BudgetExhausted, RateLimited
from skillopt_cli.core.task import ChatReply, ChatRequest, Message

ASKED = ChatRequest((Message("user", "hi"),), "rollout")


class Service:
    """Answers after a second, five a second; refuses what comes sooner, all of it while shut."""

    name = fingerprint = "service"
    offers = frozenset()

    def __init__(self, shut_for=0.0):
        self.asked = self.answered = 0
        self._shut_for, self._last = shut_for, -1.0

    async def chat(self, request):
        self.asked += 1
        now = asyncio.get_running_loop().time()
        wait = self._shut_for or self._last + 0.2 - now
        if wait > 1e-9:
            raise RateLimited("slow down", retry_after=wait)
        self._last = now
        await asyncio.sleep(1.0)
        self.answered += 1
        return ChatReply("fine")


def test_calls_that_wait_for_their_turn_end_when_a_cap_is_reached():
    async def main():
        service, limiter = Service(), RateLimiter(Provider(8))
        budget = Budget((Cap("max_calls", 40),), PastUse(), lambda event: None)
        shared = SharedLimits(limiter, budget, StopGate())
        chat = stack(service, CallPolicy("target", 8, 60.0, RetryConfig()), shared)
        with pytest.raises(BudgetExhausted):
            async with budget.within(), asyncio.TaskGroup() as group:
                for _ in range(100):
                    group.create_task(chat.chat(ASKED))
        assert service.answered == 40
        assert limiter.in_flight == 0
        return (await Limited(service, asyncio.Semaphore(1), limiter).chat(ASKED)).text

    assert in_virtual_time(main()) == "fine"


def test_those_in_the_queue_hear_of_a_long_wait_too():
    async def main():
        service = Service(shut_for=3600.0)
        chat = Limited(service, asyncio.Semaphore(8), RateLimiter(Provider(1)))
        calls = (chat.chat(ASKED) for _ in range(3))
        replies = await asyncio.gather(*calls, return_exceptions=True)
        return [type(reply) for reply in replies], service.asked

    assert in_virtual_time(main()) == ([RateLimited] * 3, 1)
