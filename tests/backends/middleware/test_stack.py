"""Wrappers: each does its one thing, and the stack does them in the right order."""

import asyncio
from dataclasses import replace

import pytest
from virtual_time import in_virtual_time

from skillopt_cli.backends.middleware.budget import Budget, PastUse
from skillopt_cli.backends.middleware.metered import Metered
from skillopt_cli.backends.middleware.recorder import Cached
from skillopt_cli.backends.middleware.retrying import Retrying, TimeLimited
from skillopt_cli.backends.middleware.stack import CallPolicy, SharedLimits, stack
from skillopt_cli.backends.rate_limiter.limiter import Limited, Provider, RateLimiter
from skillopt_cli.backends.rate_limiter.stop_gate import StopGate
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.errors import (
    AuthFailed,
    CallTimedOut,
    FatalBackendError,
    NetworkFailed,
    QuotaExhausted,
    RateLimited,
    RequestRefused,
    ServerFailed,
)
from skillopt_cli.core.events import CallFailed, CallMade, CallRetried
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Usage
from skillopt_cli.testing import FunctionChat, ScriptedChat

QUICK = RetryConfig(max_attempts=4, base_seconds=0.0)


def ask(text="hi", **more):
    return ChatRequest((Message("user", text),), "rollout", **more)


class Journal:
    """What recording needs of a store."""

    def __init__(self):
        self.replies = {}

    async def fetch(self, kind, key):
        """No other run shares anything."""

    def recall_call(self, key):
        return self.replies.get(key)

    def remember_call(self, key, reply):
        assert key not in self.replies
        self.replies[key] = reply


class Gate:
    """A backend whose calls wait until they are let through; counts those inside."""

    name = fingerprint = "gate"
    offers = frozenset()

    def __init__(self):
        self.inside = 0
        self.most = 0
        self.waiting = []
        self.arrived = asyncio.Condition()

    async def chat(self, request):
        leave = asyncio.Event()
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.waiting.append(leave)
        try:
            async with self.arrived:
                self.arrived.notify_all()
            await leave.wait()
        finally:
            self.inside -= 1
        return ChatReply(request.messages[0].content)

    async def reach(self, n):
        async with self.arrived:
            await self.arrived.wait_for(lambda: self.inside == n)

    def let_one_through(self):
        self.waiting.pop(0).set()


async def settle():
    """Let every task that can move do so."""
    for _ in range(20):
        await asyncio.sleep(0)


# Retrying


async def test_transient_errors_are_retried_and_announced():
    chat = ScriptedChat([ServerFailed("slow"), ServerFailed("down\nnow", retry_after=5), "fine"])
    waits, told = [], []

    async def sleep(seconds):
        waits.append(seconds)

    backend = Retrying(
        chat, RetryConfig(base_seconds=1.0), lambda *what: told.append(what), sleep=sleep
    )
    assert (await backend.chat(ask())).text == "fine"
    assert 0.5 <= waits[0] <= 1.0
    assert waits[1] == 5
    assert told == [("rollout", "slow", waits[0]), ("rollout", "down now", 5)]


async def test_own_waits_double_up_to_their_limit():
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    chat = ScriptedChat([ServerFailed("down")] * 5 + ["fine"])
    await Retrying(chat, RetryConfig(base_seconds=1.0, max_seconds=4.0), sleep=sleep).chat(ask())
    for wait, nominal in zip(waits, (1, 2, 4, 4, 4), strict=True):
        assert nominal / 2 <= wait <= nominal


@pytest.mark.parametrize("error", [AuthFailed("no"), RequestRefused("no"), ValueError("a bug")])
async def test_nothing_else_is_retried(error):
    chat = ScriptedChat([error, "never"])
    with pytest.raises(type(error)):
        await Retrying(chat, QUICK).chat(ask())
    assert len(chat.requests) == 1


async def test_attempts_are_bounded_and_the_last_error_is_raised():
    chat = ScriptedChat([NetworkFailed(str(n)) for n in range(9)])
    with pytest.raises(NetworkFailed, match="3"):
        await Retrying(chat, QUICK).chat(ask())
    assert len(chat.requests) == 4


async def test_no_retry_beyond_the_total_time_however_long_the_server_asks():
    async def sleep(seconds):
        raise AssertionError("must not wait")

    chat = ScriptedChat([RateLimited("come back in an hour", retry_after=3600)])
    with pytest.raises(RateLimited):
        await Retrying(chat, RetryConfig(total_seconds=600), sleep=sleep).chat(ask())


async def test_refusals_for_too_many_calls_use_up_no_attempts_and_wait_for_the_pacer_only():
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    refused = [RateLimited("slow")] * 20
    chat = ScriptedChat([*refused, ServerFailed("down"), RateLimited("slow", retry_after=3), "ok"])
    backend = Retrying(chat, RetryConfig(max_attempts=2), sleep=sleep)
    assert (await backend.chat(ask())).text == "ok"
    assert waits[:20] == [0.0] * 20
    assert 0.1 <= waits[20] <= 0.2
    assert waits[21:] == [3]


async def test_refusals_use_up_the_total_time():
    def refuse(request):
        raise RateLimited("slow", retry_after=0.03)

    chat = FunctionChat(refuse)
    with pytest.raises(RateLimited):
        await Retrying(chat, RetryConfig(total_seconds=0.1)).chat(ask())
    assert 2 <= len(chat.requests) <= 4


@pytest.mark.parametrize(
    "error", [RateLimited("slow", retry_after=1), ServerFailed("down"), QuotaExhausted("pay")]
)
async def test_with_one_attempt_nothing_is_tried_again(error):
    chat = ScriptedChat([error, "never"])
    with pytest.raises(type(error)):
        await Retrying(chat, RetryConfig(max_attempts=1)).chat(ask())


async def test_a_used_up_quota_is_fatal_at_once():
    chat = ScriptedChat([QuotaExhausted("pay"), "never"])
    with pytest.raises(FatalBackendError):
        await stacked(chat, Journal(), []).chat(ask())
    assert len(chat.requests) == 1


# Paced, as far as slots go


def limited(inner, role, provider=None):
    return Limited(inner, role, RateLimiter(provider or Provider(100)))


async def test_the_limit_is_reached_and_never_exceeded():
    gate = Gate()
    backend = limited(gate, asyncio.Semaphore(3))
    async with asyncio.TaskGroup() as group:
        for n in range(10):
            group.create_task(backend.chat(ask(str(n))))
        for left in range(10, 0, -1):
            await gate.reach(min(3, left))
            await settle()
            assert gate.inside == min(3, left)
            gate.let_one_through()
            await settle()
    assert gate.most == 3


async def test_the_ceiling_is_shared_between_roles():
    gate, ceiling = Gate(), Provider(4)
    target = limited(gate, asyncio.Semaphore(3), ceiling)
    optimizer = limited(gate, asyncio.Semaphore(3), ceiling)
    async with asyncio.TaskGroup() as group:
        for n in range(5):
            group.create_task(target.chat(ask(f"t{n}")))
            group.create_task(optimizer.chat(ask(f"o{n}")))
        for left in range(10, 0, -1):
            await gate.reach(min(4, left))
            gate.let_one_through()
            await settle()
    assert gate.most == 4


async def test_a_role_waiting_for_its_own_slot_keeps_none_of_the_providers():
    gate, ceiling = Gate(), Provider(2)
    busy = limited(gate, asyncio.Semaphore(1), ceiling)
    other = limited(gate, asyncio.Semaphore(1), ceiling)
    async with asyncio.TaskGroup() as group:
        for n in range(3):
            group.create_task(busy.chat(ask(f"busy{n}")))
        await gate.reach(1)
        await settle()
        group.create_task(other.chat(ask("other")))
        await gate.reach(2)
        for _ in range(4):
            await settle()
            gate.let_one_through()


async def test_a_failed_or_cancelled_call_gives_its_slots_back():
    role, provider = asyncio.Semaphore(1), Provider(1)
    gate = Gate()
    with pytest.raises(ServerFailed):
        await limited(ScriptedChat([ServerFailed("x")]), role, provider).chat(ask())
    task = asyncio.create_task(limited(gate, role, provider).chat(ask()))
    await gate.reach(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not role.locked()
    assert provider.in_flight == 0


# TimeLimited


async def test_a_call_beyond_its_time_is_ended():
    gate = Gate()
    with pytest.raises(CallTimedOut, match=r"0\.01 s"):
        await TimeLimited(gate, 0.01).chat(ask())
    assert gate.inside == 0


async def test_a_timeout_error_of_the_backends_own_passes_unchanged():
    with pytest.raises(TimeoutError, match="mine"):
        await TimeLimited(ScriptedChat([TimeoutError("mine")]), 10).chat(ask())


# Metered


async def test_every_try_is_metered_and_priced():
    facts = []
    chat = ScriptedChat([
        ChatReply("a", Usage(1, 2, 3)),
        ServerFailed("down"),
        ServerFailed("an empty text", usage=Usage(1, 7, 0)),
        AuthFailed("no"),
    ])
    metered = Metered(chat, "optimizer", facts.append, lambda usage: usage.prompt_tokens / 10)
    await metered.chat(ask(turn=2))
    for kind in (ServerFailed, ServerFailed, AuthFailed):
        with pytest.raises(kind):
            await metered.chat(ask())
    assert facts == [
        CallMade("optimizer", "rollout", Usage(1, 2, 3), 0.2, turn=2),
        CallFailed("optimizer", "rollout", "ServerFailed"),
        CallFailed("optimizer", "rollout", "ServerFailed", Usage(1, 7, 0), 0.7),
        CallFailed("optimizer", "rollout", "AuthFailed"),
    ]


async def test_a_timeout_is_a_failed_try():
    facts = []
    backend = stacked(Gate(), Journal(), facts, timeout=0.01, retry=RetryConfig(max_attempts=1))
    with pytest.raises(CallTimedOut):
        await backend.chat(ask())
    assert facts == [CallFailed("target", "rollout", "CallTimedOut")]


# Recorded


async def test_a_journaled_reply_is_not_asked_for_again():
    journal, chat = Journal(), ScriptedChat(["first"])
    first = await Cached(chat, journal).chat(ask())
    again = await Cached(ScriptedChat([]), journal).chat(replace(ask(), stage="measure"))
    assert first is again


@pytest.mark.parametrize(
    "other",
    [ask("ho"), ask(draw=1), ask(turn=1), ask(schema={"type": "object"}), ask(schema_name="x")],
)
async def test_what_can_alter_a_reply_is_in_the_key(other):
    journal = Journal()
    recorded = Cached(ScriptedChat(["one", "two"]), journal)
    assert (await recorded.chat(ask())).text == "one"
    assert (await recorded.chat(other)).text == "two"
    assert ask().key("a") != ask().key("b")


async def test_equal_requests_at_the_same_time_are_one_call():
    gate, journal = Gate(), Journal()
    recorded = Cached(gate, journal)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(recorded.chat(ask())) for _ in range(5)]
        other = group.create_task(recorded.chat(ask("other")))
        await gate.reach(2)
        await settle()
        assert gate.inside == 2
        gate.let_one_through()
        gate.let_one_through()
    assert {task.result().text for task in tasks} == {"hi"}
    assert other.result().text == "other"
    assert not recorded._locks


async def test_a_cancelled_leader_hands_the_call_on():
    gate, journal = Gate(), Journal()
    recorded = Cached(gate, journal)
    leader = asyncio.create_task(recorded.chat(ask()))
    await gate.reach(1)
    follower = asyncio.create_task(recorded.chat(ask()))
    await settle()
    gate.waiting.clear()
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    await gate.reach(1)
    gate.let_one_through()
    assert (await follower).text == "hi"


async def test_errors_are_not_recorded():
    journal = Journal()
    recorded = Cached(ScriptedChat([ServerFailed("x"), "fine"]), journal)
    with pytest.raises(ServerFailed):
        await recorded.chat(ask())
    assert (await recorded.chat(ask())).text == "fine"


# The stack


class Session(FunctionChat):
    """A backend that must be opened."""

    def __init__(self):
        super().__init__(lambda request: "fine")
        self.steps = []

    async def __aenter__(self):
        self.steps.append("open")
        return self

    async def __aexit__(self, *_):
        self.steps.append("close")


def stacked(backend, journal, facts, **policy):
    settings = {"role": "target", "workers": 2, "timeout": 5.0, "retry": QUICK, **policy}
    limiter = RateLimiter(Provider(8))
    shared = SharedLimits(limiter, Budget((), PastUse(), facts.append), StopGate())
    return Cached(stack(backend, CallPolicy(**settings), shared), journal)


async def test_the_stack_is_its_backend_to_the_outside_and_opens_it():
    inner = Session()
    backend = stacked(inner, Journal(), [])
    assert (backend.name, backend.fingerprint, backend.offers) == (
        inner.name,
        inner.fingerprint,
        inner.offers,
    )
    async with backend:
        assert (await backend.chat(ask())).text == "fine"
        assert inner.steps == ["open"]
    assert inner.steps == ["open", "close"]


async def test_the_stack_retries_meters_and_records():
    journal, facts = Journal(), []
    backend = stacked(ScriptedChat([RateLimited("slow"), "fine"]), journal, facts)
    reply = await backend.chat(ask())
    assert facts == [
        CallFailed("target", "rollout", "RateLimited"),
        CallRetried("target", "rollout", "slow", 0.0),
        CallMade("target", "rollout", Usage(1)),
    ]
    assert list(journal.replies.values()) == [reply]
    assert await backend.chat(ask()) is reply
    assert len(facts) == 3


async def test_a_reply_is_journaled_before_its_caller_sees_it():
    class Fragile(Journal):
        def remember_call(self, key, reply):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await stacked(ScriptedChat(["fine"]), Fragile(), []).chat(ask())


async def test_a_waiting_retry_holds_no_slot():
    waiting, go_on = asyncio.Event(), asyncio.Event()

    async def sleep(seconds):
        waiting.set()
        await go_on.wait()

    chat = ScriptedChat([ServerFailed("x"), "second", "first"])
    slotted = limited(chat, asyncio.Semaphore(1), Provider(1))
    backend = Retrying(slotted, QUICK, sleep=sleep)
    first = asyncio.create_task(backend.chat(ask()))
    await waiting.wait()
    assert (await backend.chat(ask("other"))).text == "second"
    go_on.set()
    assert (await first).text == "first"


def test_time_spent_waiting_for_a_slot_is_not_the_calls_time():
    async def main():
        gate, once = Gate(), RetryConfig(max_attempts=1)
        backend = stacked(gate, Journal(), [], workers=1, timeout=5.0, retry=once)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(backend.chat(ask(str(n)))) for n in range(4)]
            for _ in tasks:
                await gate.reach(1)
                await asyncio.sleep(4)
                gate.let_one_through()
                await settle()
        return [task.result().text for task in tasks]

    assert in_virtual_time(main()) == ["0", "1", "2", "3"]
