"""A service that answers nothing but failures: calls wait, and one at a time tries again."""

import asyncio
import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_time import in_virtual_time

from skillopt_cli.backends.middleware.retrying import Retrying
from skillopt_cli.backends.rate_limiter.limiter import Limited, Provider, RateLimiter
from skillopt_cli.backends.rate_limiter.outage import AHEAD, Outage
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.errors import CallTimedOut, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Usage

LATENCY, WORKERS = 0.2, 24


def ask(text="hi"):
    return ChatRequest((Message("user", text),), "rollout")


def now():
    return asyncio.get_running_loop().time()


class Service:
    """Answers after a while; fails at once from one time to another."""

    name = fingerprint = "service"
    offers = frozenset()

    def __init__(self, begin, end, usage=None, latency=LATENCY, spread=0.0):
        self.spread, self.dice = spread, random.Random(1)
        self.begin, self.end, self.usage, self.latency = begin, end, usage, latency
        self.failed, self.answered, self.inside, self.most = [], 0, 0, 0

    async def chat(self, request):
        self.inside += 1
        try:
            if self.begin <= now() < self.end:
                await asyncio.sleep(0.01)
                self.failed.append(now())
                self.most = max(self.most, self.inside if now() > self.begin + 3 else 0)
                raise ServerFailed("service failed (HTTP 503)", usage=self.usage)
            await asyncio.sleep(self.latency * self.dice.uniform(1 - self.spread, 1 + self.spread))
            self.answered += 1
        finally:
            self.inside -= 1
        return ChatReply(request.messages[0].content)


class Run:
    """What became of many calls through limiter and retries."""

    def __init__(self, service, calls=1200, workers=WORKERS, wait=600.0, retry=None, patient=True):
        self.told, self.replies, self.seconds = [], [], 0.0

        async def main():
            limiter = RateLimiter(Provider(64), lambda *what: self.told.append(what), wait)
            limited = Limited(service, asyncio.Semaphore(workers), limiter, patient=patient)
            chat = Retrying(limited, retry or RetryConfig(), clock=limiter.clock)
            asked = (chat.chat(ask(str(n))) for n in range(calls))
            self.replies = await asyncio.gather(*asked, return_exceptions=True)
            self.seconds = now()

        in_virtual_time(main())

    @property
    def broken(self):
        return sum(isinstance(reply, ServerFailed) for reply in self.replies)


@pytest.mark.parametrize("workers", [1, 3, 24])
@pytest.mark.parametrize("seconds", [5.0, 60.0, 590.0])
def test_no_call_is_given_up_for_an_outage(seconds, workers):
    service, calls = Service(4.0, 4.0 + seconds), 50 * workers
    run = Run(service, calls, workers)
    assert run.broken == 0
    assert run.seconds < seconds + 1.1 * (calls * LATENCY / workers) + 6.0


@pytest.mark.parametrize(("seconds", "most"), [(25.0, 0.5), (60.0, 1.0), (500.0, 2.0)])
def test_one_call_at_a_time_tries_again_the_more_seldom_the_longer_it_lasts(seconds, most):
    service = Service(4.0, 4.0 + seconds)
    Run(service)
    assert service.most == 1
    probes = [at for at in service.failed if at > service.begin + 3]
    gaps = [round(after - before, 6) for before, after in itertools.pairwise(probes)]
    assert gaps == sorted(gaps)
    assert min(gaps) >= 0.5
    assert max(gaps) == pytest.approx(most, abs=0.03)


class Returning(Service):
    """Slow; after the failures it hangs for a while, each call for a minute."""

    def __init__(self, begin, end, hangs=0.0):
        super().__init__(begin, end, latency=2.0)
        self.until, self.hung, self.ahead, self.first = end + hangs, 0, 0, None

    async def chat(self, request):
        if now() < self.end:
            return await super().chat(request)
        self.inside += 1
        self.ahead = max(self.ahead, self.inside if self.first is None else 0)
        try:
            if now() < self.until:
                self.hung += 1
                await asyncio.sleep(60)
                raise CallTimedOut("no answer within 60 s")
            await asyncio.sleep(self.latency)
            self.first = self.first or now()
        finally:
            self.inside -= 1
        return ChatReply(request.messages[0].content)


def test_others_follow_before_the_first_slow_answer_after_an_outage():
    service = Returning(4.0, 64.0)
    run = Run(service, workers=2 * AHEAD)
    assert run.broken == 0
    assert service.most == 1
    assert service.ahead == AHEAD


@pytest.mark.parametrize("spread", [0.0, 0.8])
@pytest.mark.parametrize("begin", [5.0 + 0.4 * phase for phase in range(5)])
def test_no_call_is_given_up_where_earlier_ones_are_still_answered(begin, spread):
    run = Run(Service(begin, begin + 60.0, latency=2.0, spread=spread), calls=960, workers=48)
    assert run.broken == 0
    # The last probe that fails is up to 1 s before the end.
    assert run.seconds < 60 + 1 + 1.1 * (960 * 2.0 / 48)


def test_a_service_that_hangs_after_an_outage_is_not_flooded():
    service = Returning(4.0, 34.0, hangs=300.0)
    run = Run(service, workers=2 * AHEAD)
    assert run.broken == 0
    assert service.ahead == AHEAD
    # Once those have failed, one at a time tries again, for a minute each.
    assert service.hung <= AHEAD + 300 / 60


def test_beginning_and_end_are_stated_once():
    run = Run(Service(4.0, 64.0))
    assert [in_flight for in_flight, _, _ in run.told] == [1, 32]
    assert run.told[0][2] == "outage: calls wait up to 10 min while one tries again"
    assert run.told[1][2].startswith("the service answers again after 6")


def test_attempts_break_only_when_the_wait_is_over():
    service = Service(4.0, 1e9)
    run = Run(service, wait=120.0)
    assert run.broken == 1200 - service.answered > 600
    assert run.seconds > 124
    reasons = [reason for *_, reason in run.told]
    assert any(reason.endswith("calls fail from now on") for reason in reasons)
    assert sum(reason.startswith("outage") for reason in reasons) == 1


def test_an_outage_uses_up_no_try_and_no_time_of_a_call():
    retry = RetryConfig(max_attempts=3, total_seconds=20.0)
    run = Run(Service(4.0, 304.0), retry=retry)
    assert run.broken == 0


@pytest.mark.parametrize("how", [{"wait": 0.0}, {"patient": False}])
def test_without_patience_calls_fail_as_ever(how):
    service = Service(4.0, 1e9)
    run = Run(service, calls=600, **how)
    assert run.broken == 600 - service.answered > 100


def test_a_service_that_never_answered_is_not_waited_for():
    run = Run(Service(0.0, 1e9), calls=3)
    assert run.broken == 3
    assert run.seconds < 120


def test_answers_of_no_use_are_no_outage():
    service = Service(4.0, 1e9, usage=Usage(1, 5, 5))
    run = Run(service, calls=1000)
    assert run.broken == 1000 - service.answered > 0
    assert len(service.failed) == 8 * run.broken
    assert run.told == []


def test_random_failures_are_no_outage():
    class Flaky(Service):
        async def chat(self, request):
            self.asked = getattr(self, "asked", 0) + 1
            if self.asked % 7 in (2, 3):
                raise ServerFailed("service failed (HTTP 500)")
            return await super().chat(request)

    assert Run(Flaky(0.0, 0.0)).told == []


def test_requests_that_always_fail_are_no_outage():
    class Picky(Service):
        async def chat(self, request):
            if int(request.messages[0].content) % 2:
                await asyncio.sleep(0.01)
                raise ServerFailed("service failed (HTTP 500)")
            return await super().chat(request)

    run = Run(Picky(0.0, 0.0), calls=100)
    assert run.broken == 50
    assert run.seconds < 120
    assert run.told == []


def test_a_cancelled_probe_makes_way_for_another():
    async def main():
        service = Service(1.0, 30.0)
        limiter = RateLimiter(Provider(8), outage_wait=600.0)
        limited = Limited(service, asyncio.Semaphore(8), limiter)
        chat = Retrying(limited, RetryConfig(), clock=limiter.clock)
        await chat.chat(ask())
        await asyncio.sleep(1)
        tasks = [asyncio.create_task(chat.chat(ask())) for _ in range(8)]
        await asyncio.sleep(10)
        for task in tasks[:7]:
            task.cancel()
        return (await tasks[7]).text, now()

    text, seconds = in_virtual_time(main())
    assert text == "hi"
    assert 30 <= seconds < 36


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["begin", "answer", "fail", "cancel"]),
            st.floats(0, 9),
            st.integers(0, 9),
        ),
        max_size=60,
    )
)
def test_an_outage_never_blocks_for_ever(happenings):
    outage, time, calls, took = Outage(600.0), 0.0, [], 0.0
    for kind, later, which in happenings:
        time += later
        opens = outage.opens_at()
        if kind == "begin":
            if opens is not None:
                time = max(time, opens)
                outage.began(time)
                calls.append(time)
                if outage.since is not None:
                    follows = outage.opens_at()
                    assert follows is None or follows >= time + 3 * took
                    assert follows is None or len(calls) < AHEAD
            continue
        if not calls:
            continue
        began = calls.pop(0)
        if kind == "answer":
            outage.answered(which, began, time)
            assert outage.since is None
        elif kind == "fail":
            took = time - began
            outage.failed(which, began, time, None)
        outage.left(began)
    for began in calls:
        outage.left(began)
    opens = outage.opens_at()
    assert opens is not None
    assert opens <= time + 5
