"""Calls that keep a pace: in turn, given back when cancelled, apart where models are."""

import asyncio
import itertools
import math

import pytest
from virtual_time import in_virtual_time

from skillopt_cli.backends.middleware.retrying import Retrying
from skillopt_cli.backends.rate_limiter.limiter import Limited, Provider, RateLimiter
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.errors import RateLimited, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Message

LATENCY = 0.3


def ask(text="hi"):
    return ChatRequest((Message("user", text),), "rollout")


def now():
    return asyncio.get_running_loop().time()


class Service:
    """Answers after a while; a token bucket that holds a second's worth limits it."""

    name = fingerprint = "service"
    offers = frozenset()

    def __init__(self, rate=1e9, latency=LATENCY, tell=True):
        self.rate, self.latency, self.tell = rate, latency, tell
        self.held, self.at = rate, 0.0
        self.began, self.refused, self.inside, self.most = [], 0, 0, 0

    async def chat(self, request):
        self.held = min(self.rate, self.held + (now() - self.at) * self.rate)
        self.at = now()
        if self.held < 1:
            self.refused += 1
            await asyncio.sleep(0.01)
            wait = (1 - self.held) / self.rate
            raise RateLimited("slow down", retry_after=wait if self.tell else None)
        self.held -= 1
        self.began.append((now(), request.messages[0].content))
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await asyncio.sleep(self.latency)
        finally:
            self.inside -= 1
        return ChatReply(request.messages[0].content)


class Narrow(Service):
    """Refuses whatever comes while it is busy with so many calls."""

    def __init__(self, at_once):
        super().__init__(tell=False)
        self.at_once = at_once

    async def chat(self, request):
        if self.inside >= self.at_once:
            self.refused += 1
            raise RateLimited("busy")
        return await super().chat(request)


class Failing(Service):
    """Raises the errors of a script, then answers."""

    def __init__(self, *errors, **more):
        super().__init__(**more)
        self.errors = list(errors)

    async def chat(self, request):
        if self.errors:
            raise self.errors.pop(0)
        return await super().chat(request)


def paced(service, limiter, workers=24):
    backend = Limited(service, asyncio.Semaphore(workers), limiter)
    return Retrying(backend, RetryConfig())


async def all_of(backend, calls, name=""):
    async with asyncio.TaskGroup() as group:
        for n in range(calls):
            group.create_task(backend.chat(ask(f"{name}{n}")))


@pytest.mark.parametrize("tell", [True, False])
def test_the_whole_stack_uses_a_limit_well(tell):
    calls, rate = 2000, 24 / LATENCY / 3

    async def main():
        service = Service(rate, tell=tell)
        await all_of(paced(service, RateLimiter(Provider(64))), calls)
        return now(), service.refused

    seconds, refused = in_virtual_time(main())
    assert seconds < 1.2 * (calls / rate - 1)
    assert refused < 0.03 * (calls + refused)


def test_two_roles_share_the_pace_of_their_model():
    async def main():
        service, limiter = Service(40), RateLimiter(Provider(64))
        roles = [paced(service, limiter, 24) for _ in range(2)]
        async with asyncio.TaskGroup() as group:
            for name, role in zip("to", roles, strict=True):
                group.create_task(all_of(role, 1500, name))
        half = [name[0] for _, name in service.began[:1500]]
        return now(), service.refused, half.count("t")

    seconds, refused, targets = in_virtual_time(main())
    assert seconds < 1.2 * 3000 / 40
    assert refused < 0.03 * 3000
    assert 600 < targets < 900


def test_two_models_of_a_provider_are_paced_apart():
    async def main():
        slow, fast = Service(2), Service()
        provider = Provider(24)
        async with asyncio.TaskGroup() as group:
            group.create_task(all_of(paced(slow, RateLimiter(provider), 20), 60))
            await asyncio.sleep(5)
            before = now()
            await all_of(paced(fast, RateLimiter(provider), 20), 400)
            return now() - before, slow.refused

    seconds, refused = in_virtual_time(main())
    # Those of the slow model that wait hold no slot of the provider.
    assert seconds < 1.5 * 400 / 20 * LATENCY
    assert refused > 0


def test_the_provider_is_a_ceiling_over_its_models():
    async def main():
        service, provider = Service(), Provider(6)
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(all_of(paced(service, RateLimiter(provider), 24), 40))
        return service.most

    assert in_virtual_time(main()) == 6


def test_who_came_first_begins_first():
    async def main():
        service = Service(5, latency=0.05)
        await all_of(paced(service, RateLimiter(Provider(1)), workers=100), 50)
        return [int(name) for _, name in service.began]

    order = in_virtual_time(main())
    late = sum(later < earlier for earlier, later in itertools.pairwise(order))
    assert late <= 6  # only those that were refused


def test_nobody_begins_until_retry_after_is_over():
    async def main():
        service = Failing(RateLimited("slow", retry_after=20.0))
        backend = paced(service, RateLimiter(Provider(8)))
        first = asyncio.create_task(backend.chat(ask("first")))
        await asyncio.sleep(1)
        await all_of(backend, 5)
        await first
        return [at for at, _ in service.began]

    assert min(in_virtual_time(main())) >= 20.0


def test_waits_are_not_added_up():
    async def main():
        backend = paced(Failing(RateLimited("slow", retry_after=20.0)), RateLimiter(Provider(8)))
        await backend.chat(ask())
        return now()

    assert 20.0 <= in_virtual_time(main()) < 20.0 + LATENCY + 0.1


def test_a_long_wait_is_told_to_everybody_who_comes():
    async def main():
        service = Failing(RateLimited("come back tomorrow", retry_after=5000.0))
        backend = paced(service, RateLimiter(Provider(8)))
        with pytest.raises(RateLimited):
            await backend.chat(ask())
        with pytest.raises(RateLimited, match="tomorrow") as caught:
            await backend.chat(ask())
        return now(), caught.value.retry_after

    seconds, wait = in_virtual_time(main())
    assert seconds == 0.0
    assert wait == 5000.0


def test_many_refusals_do_not_break_a_call():
    async def main():
        service = Failing(*[RateLimited("slow")] * 25)
        await paced(service, RateLimiter(Provider(8))).chat(ask())
        return now()

    assert 10 < in_virtual_time(main()) < 600


def test_a_call_ends_when_it_is_refused_for_too_long():
    async def main():
        service = Failing(*[RateLimited("slow")] * 1000)
        with pytest.raises(RateLimited):
            await paced(service, RateLimiter(Provider(8))).chat(ask())
        return now()

    assert 590 < in_virtual_time(main()) < 610


@pytest.mark.parametrize("when", [0.5, 1.2, 3.0])
def test_cancelled_calls_give_their_places_back(when):
    async def main():
        service, provider = Service(4), Provider(2)
        limiter = RateLimiter(provider)
        role = asyncio.Semaphore(24)
        backend = Retrying(Limited(service, role, limiter), RetryConfig())
        tasks = [asyncio.create_task(backend.chat(ask(str(n)))) for n in range(40)]
        await asyncio.sleep(when)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await all_of(backend, 10)
        assert service.inside == limiter.in_flight == provider.in_flight == 0
        assert not role.locked()
        return [task.cancelled() for task in tasks[1::2]]

    assert not any(in_virtual_time(main()))


def test_a_failed_call_gives_its_place_back():
    async def main():
        limiter = RateLimiter(Provider(1))
        backend = Limited(
            Failing(ServerFailed("x"), ValueError("a bug")),
            asyncio.Semaphore(1),
            limiter,
        )
        for kind in (ServerFailed, ValueError):
            with pytest.raises(kind):
                await backend.chat(ask())
        return (await backend.chat(ask("fine"))).text

    assert in_virtual_time(main()) == "fine"


def test_slow_downs_are_told_and_logs_stay_short():
    told = []

    async def main():
        service = Service(40)
        await all_of(
            paced(service, RateLimiter(Provider(64), lambda *what: told.append(what))), 2400
        )
        return service.refused

    refused = in_virtual_time(main())
    assert refused > 0
    assert 1 <= len(told) <= 12
    in_flight, per_minute, reason = told[-1]
    assert 1 <= in_flight <= 64
    assert 0.7 * 2400 < per_minute < 1.3 * 2400
    assert reason == "rate limited"


def test_a_doubling_is_told():
    told = []

    async def main():
        service = Service(20)
        backend = paced(service, RateLimiter(Provider(64), lambda *what: told.append(what)))
        await all_of(backend, 300)
        service.rate = 1e9
        await all_of(backend, 3000)

    in_virtual_time(main())
    reasons = [reason for *_, reason in told]
    assert "nothing was refused for a while" in reasons
    assert len(told) < 25


@pytest.mark.parametrize("tell", [True, False])
@pytest.mark.parametrize(
    "stages", [[60, 20, 4, 1, 1] * 24, [40, *[1] * 10] * 40], ids=["training", "mostly idle"]
)
def test_time_in_which_little_is_asked_does_not_make_a_limit_look_lower(stages, tell):
    workers, latency = 24, 1.0
    rate = workers / latency / 3

    async def main():
        service = Service(rate, latency, tell)
        backend = paced(service, RateLimiter(Provider(64)), workers)
        for calls in stages:
            await all_of(backend, calls)
        return now(), service.refused

    held = least = 0.0
    for calls in stages:
        took = max(math.ceil(calls / workers) * latency, (calls - held) / rate + latency)
        held, least = max(0.0, min(rate, held + rate * took - calls)), least + took
    seconds, refused = in_virtual_time(main())
    # The least time uses up in a burst what a bucket has held back; the limiter paces.
    assert seconds < 1.2 * least
    assert refused < 0.03 * sum(stages)


def test_a_width_that_grows_again_is_told_as_well():
    """A service that counts calls in flight, and no rate: first a few, then any number."""
    told = []

    async def main():
        service = Narrow(4)
        limiter = RateLimiter(Provider(64), lambda *what: told.append(what))
        backend = paced(service, limiter, workers=64)
        await all_of(backend, 400)
        service.at_once = 1000
        await all_of(backend, 6000)

    in_virtual_time(main())
    widths = [in_flight for in_flight, *_ in told]
    grown = [w for (w, _, reason) in told if reason == "nothing was refused for a while"]
    assert min(widths) <= 4
    assert grown == sorted(grown) and grown[-1] == 64
    assert len(told) < 40


def test_the_first_growth_is_not_worth_a_word():
    told = []
    in_virtual_time(
        all_of(paced(Narrow(1000), RateLimiter(Provider(64), lambda *what: told.append(what))), 500)
    )
    assert told == []
