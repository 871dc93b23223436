"""Calls wait for their turn: first come, first served, by what each model allows. Virtual time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from skillopt_cli.backends.budget import Budget, Past
from skillopt_cli.backends.doors import Doors
from skillopt_cli.backends.pacing import Paced, Pacer
from skillopt_cli.backends.stack import CallPolicy, Shared, stack
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.caps import Cap
from skillopt_cli.core.errors import BudgetExhausted, RateLimited, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Message


class VirtualLoop(asyncio.SelectorEventLoop):
    """Goes straight to the next timer whenever nothing else is to do."""

    _passed = 0.0

    def time(self):
        return self._passed

    def _run_once(self):
        if not self._ready and self._scheduled:
            self._passed = max(self._passed, self._scheduled[0]._when)
        super()._run_once()


def run(main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main)


def now() -> float:
    return asyncio.get_running_loop().time()


def ask(text="hi"):
    return ChatRequest((Message("user", text),), "rollout")


class Service:
    """Answers after a while what it does not refuse; keeps who began when."""

    name = fingerprint = "service"
    offers = frozenset()

    def __init__(
        self, refuse: Callable[[int], Exception | None] = lambda number: None, latency: float = 1.0
    ):
        self.begun: list[tuple[str, float]] = []
        self.inside = self.most = self.answered = 0
        self._refuse, self._latency = refuse, latency

    async def chat(self, request):
        text = request.messages[0].content
        self.begun.append((text, now()))
        if error := self._refuse(len(self.begun)):
            raise error
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await asyncio.sleep(self._latency)
        finally:
            self.inside -= 1
        self.answered += 1
        return ChatReply(text)

    def when(self, text):
        return next(at for said, at in self.begun if said == text)


def refused_once(retry_after):
    """The first call is refused."""
    return lambda number: RateLimited("slow", retry_after=retry_after) if number == 1 else None


def lane(service, pacer, *, workers=100, provider=None):
    return Paced(service, asyncio.Semaphore(workers), provider or asyncio.Semaphore(100), pacer)


def test_whoever_came_first_begins_first_and_the_ceiling_holds():
    async def main():
        service = Service()
        chat = lane(service, Pacer(2))
        async with asyncio.TaskGroup() as group:
            for n in range(7):
                group.create_task(chat.chat(ask(str(n))))
        assert [text for text, _ in service.begun] == list("0123456")
        assert [at for _, at in service.begun] == [0, 0, 1, 1, 2, 2, 3]
        assert service.most == 2

    run(main())


@pytest.mark.parametrize("victim", [0, 1])
def test_a_cancelled_call_gives_its_place_to_the_next(victim):
    async def main():
        service = Service()
        chat = lane(service, Pacer(1))
        tasks = [asyncio.create_task(chat.chat(ask(str(n)))) for n in range(3)]
        await asyncio.sleep(0.5)
        tasks[victim].cancel()
        await asyncio.wait(tasks)
        assert tasks[victim].cancelled()
        assert service.when("2") == (1.5 if victim == 0 else 1.0)
        await chat.chat(ask("later"))

    run(main())


def test_a_failed_call_gives_its_place_back():
    async def main():
        service = Service(lambda number: ServerFailed("down") if number == 1 else None)
        chat = lane(service, Pacer(1))
        with pytest.raises(ServerFailed):
            await chat.chat(ask())
        await chat.chat(ask())

    run(main())


def test_nobody_begins_before_a_service_asks_them_back():
    async def main():
        service = Service(refused_once(retry_after=30))
        pacer = Pacer(8)
        target, optimizer = lane(service, pacer), lane(service, pacer)
        with pytest.raises(RateLimited):
            await target.chat(ask("refused"))
        async with asyncio.TaskGroup() as group:
            for n in range(4):
                group.create_task((target, optimizer)[n % 2].chat(ask(str(n))))
        assert min(at for text, at in service.begun if text != "refused") >= 30

    run(main())


def test_a_wait_beyond_a_minute_is_not_sat_out_in_the_queue():
    async def main():
        service = Service(refused_once(retry_after=3600))
        chat = lane(service, Pacer(8))
        for _ in range(2):
            with pytest.raises(RateLimited) as caught:
                await chat.chat(ask())
            assert caught.value.retry_after == pytest.approx(3600)
        assert len(service.begun) == 1
        assert now() == 0

    run(main())


def test_those_who_wait_already_hear_of_it_too():
    async def main():
        service = Service(refused_once(retry_after=3600))
        chat = lane(service, Pacer(1))
        calls = (chat.chat(ask(str(n))) for n in range(3))
        replies = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(reply) for reply in replies] == [RateLimited] * 3
        assert len(service.begun) == 1

    run(main())


def test_two_roles_that_ask_one_model_share_its_ceiling():
    async def main():
        service, pacer = Service(), Pacer(3)
        roles = [lane(service, pacer, workers=2) for _ in range(2)]
        async with asyncio.TaskGroup() as group:
            for n in range(8):
                group.create_task(roles[n % 2].chat(ask(str(n))))
        assert service.most == 3

    run(main())


def test_two_models_of_a_provider_have_their_own_pace_within_its_ceiling():
    async def main():
        service, provider = Service(refused_once(retry_after=30)), asyncio.Semaphore(2)
        slow = lane(service, Pacer(2), provider=provider)
        quick = lane(service, Pacer(2), provider=provider)
        with pytest.raises(RateLimited):
            await slow.chat(ask("refused"))
        async with asyncio.TaskGroup() as group:
            for n in range(3):
                group.create_task(slow.chat(ask(f"slow {n}")))
            await asyncio.sleep(0)
            for n in range(3):
                group.create_task(quick.chat(ask(f"quick {n}")))
        assert [service.when(f"quick {n}") for n in range(3)] == [0, 0, 1]
        assert min(service.when(f"slow {n}") for n in range(3)) >= 30
        assert service.most == 2

    run(main())


class Bucket:
    """Refuses what comes faster than so many per second."""

    def __init__(self, rate):
        self.rate, self.held, self.at = rate, rate, 0.0

    def __call__(self, number):
        self.held = min(self.rate, self.held + (now() - self.at) * self.rate)
        self.at = now()
        if self.held < 1:
            return RateLimited("slow", retry_after=(1 - self.held) / self.rate)
        self.held -= 1
        return None


async def ask_all(chat, calls):
    async def insist(n):
        while True:
            try:
                return await chat.chat(ask(str(n)))
            except RateLimited:
                pass

    async with asyncio.TaskGroup() as group:
        for n in range(calls):
            group.create_task(insist(n))


def test_slow_downs_are_told_and_no_speeding_up_but_a_doubling():
    async def main():
        told = []
        service = Service(bucket := Bucket(10.0), latency=0.2)
        pacer = Pacer(40, lambda *change: told.append(change))
        await ask_all(lane(service, pacer), 300)
        assert told
        assert told[0][2] == "rate limited"
        bucket.rate = 100.0
        before = len(told)
        await ask_all(lane(service, pacer), 1500)
        faster = [n for n, change in enumerate(told) if change[2] != "rate limited"]
        assert any(n >= before for n in faster)
        for n in faster:
            assert told[n][1] >= 2 * told[n - 1][1]
        assert all(1 <= in_flight <= 40 for in_flight, _, _ in told)

    run(main())


def test_nothing_is_told_while_nothing_is_refused():
    async def main():
        told = []
        await ask_all(lane(Service(), Pacer(40, lambda *change: told.append(change))), 300)
        assert told == []

    run(main())


def test_calls_that_wait_for_their_pace_end_when_a_cap_is_reached():
    async def main():
        service, pacer = Service(Bucket(5.0)), Pacer(8)
        budget = Budget((Cap("max_calls", 40),), Past(), lambda event: None)
        shared = Shared(asyncio.Semaphore(8), pacer, budget, Doors())
        chat = stack(service, CallPolicy("target", 8, 60.0, RetryConfig()), shared)
        with pytest.raises(BudgetExhausted):
            async with budget.within():
                await ask_all(chat, 100)
        assert service.inside == 0
        assert service.answered == 40
        await lane(service, pacer).chat(ask("free again"))

    run(main())
