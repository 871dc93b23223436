"""The budget: who is let in, who waits, and how the work ends at a cap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from virtual_time import in_virtual_time

from skillopt_cli.backends.middleware.budget import Budget, Budgeted, PastUse
from skillopt_cli.backends.middleware.metered import Metered
from skillopt_cli.core.caps import Cap, Reserve, Work
from skillopt_cli.core.errors import BudgetExhausted, ServerFailed
from skillopt_cli.core.events import (
    BudgetSpent,
    CallMade,
    Degraded,
    Role,
    RunEvent,
    RunStarted,
    Stamped,
)
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Usage
from skillopt_cli.ports import ChatBackend
from skillopt_cli.runlog.fold import fold
from skillopt_cli.testing import FunctionChat, ScriptedChat

CALL = Usage(1, 8, 2)


def past(log: list[Stamped]) -> PastUse:
    """What a log says that earlier processes used."""
    view = fold(log)
    return PastUse(view.ledger, view.wall_time, view.marks)


def now() -> float:
    return asyncio.get_running_loop().time()


class Desk:
    """A budget with a backend behind it whose calls wait until told how to end."""

    name = fingerprint = "desk"
    offers = frozenset[str]()

    def __init__(self, *caps: Cap, past: PastUse | None = None, usd: float | None = 0.5) -> None:
        self.facts: list[RunEvent] = []
        self.budget = Budget(caps, past or PastUse(), self.facts.append, now)
        self.usd = usd
        self.waiting: list[asyncio.Future[ChatReply]] = []
        self.most = 0

    async def chat(self, request: ChatRequest) -> ChatReply:
        ending: asyncio.Future[ChatReply] = asyncio.get_running_loop().create_future()
        self.waiting.append(ending)
        self.most = max(self.most, len(self.waiting))
        try:
            return await ending
        finally:
            self.waiting.remove(ending)

    def backend(self, role: Role = "target", chat: ChatBackend | None = None) -> ChatBackend:
        metered = Metered(chat or self, role, self.budget.emit, lambda usage: self.usd)
        return Budgeted(metered, role, self.budget)

    def ask(self, stage: str = "rollout", role: Role = "target") -> asyncio.Task[ChatReply]:
        request = ChatRequest((Message("user", "hi"),), stage)
        return asyncio.ensure_future(self.backend(role).chat(request))

    async def answer(self, n: int = 1) -> None:
        for ending in self.waiting[:n]:
            ending.set_result(ChatReply("fine", CALL))
        await settle()

    async def fail(self) -> None:
        self.waiting[0].set_exception(ServerFailed("down"))
        await settle()

    def of(self, kind: type[RunEvent]) -> list[RunEvent]:
        return [fact for fact in self.facts if isinstance(fact, kind)]


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def ended(tasks: list[asyncio.Task[ChatReply]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_calls_in_flight_count_as_made() -> None:
    desk = Desk(Cap("max_calls", 3))
    with pytest.raises(BudgetExhausted, match="max_calls of 3 was reached"):
        async with desk.budget.within():
            calls = [desk.ask() for _ in range(5)]
            await settle()
            assert len(desk.waiting) == 3
            await desk.answer(3)
            await asyncio.Event().wait()
    assert len(desk.of(CallMade)) == desk.most == 3
    await ended(calls)


async def test_a_call_that_came_to_nothing_leaves_its_room_to_another() -> None:
    desk = Desk(Cap("max_calls", 2))
    with pytest.raises(BudgetExhausted):
        async with desk.budget.within():
            calls = [desk.ask() for _ in range(4)]
            await settle()
            assert len(desk.waiting) == 2
            await desk.fail()
            assert len(desk.waiting) == 2
            await desk.answer(2)
            await asyncio.Event().wait()
    assert len(desk.of(CallMade)) == 2
    await ended(calls)


@pytest.mark.parametrize(("cap", "limit", "used"), [("max_tokens", 45, 50), ("max_usd", 2.25, 2.5)])
async def test_calls_in_flight_count_by_the_averages_so_far(
    cap: str, limit: float, used: float
) -> None:
    desk = Desk(Cap(cap, limit))
    with pytest.raises(BudgetExhausted):
        async with desk.budget.within():
            calls = [desk.ask() for _ in range(24)]
            await settle()
            # Nothing is known of a rollout before the first one is answered.
            assert len(desk.waiting) == 1
            await desk.answer()
            # Three whole calls fit, and a part of the fourth.
            assert len(desk.waiting) == 4
            await desk.answer(4)
            await asyncio.Event().wait()
    assert sum(call.done() for call in calls) == 5
    assert desk.budget.use.of(cap) == used
    await ended(calls)


async def test_a_first_rollout_that_fails_leaves_its_place_to_another() -> None:
    desk = Desk(Cap("max_usd", 100.0))
    async with desk.budget.within():
        calls = [desk.ask() for _ in range(3)]
        await settle()
        await desk.fail()
        assert len(desk.waiting) == 1
        await desk.answer()
        assert len(desk.waiting) == 1
        await desk.answer()
    await asyncio.gather(*calls, return_exceptions=True)
    assert desk.most == 1


async def test_calls_that_take_more_than_the_averages_exceed_a_cap() -> None:
    desk = Desk(Cap("max_usd", 2.0), usd=0.1)
    with pytest.raises(BudgetExhausted):
        async with desk.budget.within():
            calls = [desk.ask() for _ in range(10)]
            await settle()
            await desk.answer()
            assert len(desk.waiting) == 9
            desk.usd = 1.0
            await desk.answer(9)
            calls.append(desk.ask())
            await asyncio.Event().wait()
    assert desk.budget.use.of("max_usd") == pytest.approx(9.1)
    await ended(calls)


async def test_a_cap_on_rollouts_leaves_the_optimizer_alone() -> None:
    desk = Desk(Cap("max_rollouts", 2))
    async with desk.budget.within():
        calls = [desk.ask(), desk.ask("measure")]
        await settle()
        await desk.answer(2)
        calls += [desk.ask("reflect", "optimizer"), desk.ask("preflight")]
        await settle()
        await desk.answer(2)
    assert all(call.done() for call in calls)
    with pytest.raises(BudgetExhausted):
        async with desk.budget.within():
            calls = [desk.ask()]
            await asyncio.Event().wait()
    await ended(calls)


async def test_work_that_needs_exactly_the_cap_is_not_stopped() -> None:
    desk = Desk(Cap("max_calls", 2))
    async with desk.budget.within():
        calls = [desk.ask(), desk.ask()]
        await settle()
        await desk.answer(2)
    assert [call.result().text for call in calls] == ["fine"] * 2


async def test_a_reserve_is_kept_and_then_given_free() -> None:
    desk = Desk(Cap("max_rollouts", 10))
    with pytest.raises(BudgetExhausted, match="max_rollouts of 10, less 4 kept for the final test"):
        async with desk.budget.within(Reserve(last=Work(4), first=Work(6))):
            calls = [desk.ask() for _ in range(10)]
            await settle()
            assert len(desk.waiting) == 6
            await desk.answer(6)
            await asyncio.Event().wait()
    await ended(calls)
    async with desk.budget.within():
        calls = [desk.ask() for _ in range(4)]
        await settle()
        await desk.answer(4)
    assert desk.budget.use.of("max_rollouts") == 10


async def test_a_reserve_that_does_not_fit_is_not_kept_and_that_is_said_once() -> None:
    desk = Desk(Cap("max_rollouts", 9), Cap("max_usd", 100.0))
    reserve = Reserve(last=Work(4), first=Work(6))
    for _ in range(2):
        async with desk.budget.within(reserve):
            pass
    (said,) = desk.of(Degraded)
    assert isinstance(said, Degraded)
    assert "max_rollouts of 9 cannot pay for" in said.reason


async def test_marks_are_announced_once_also_over_a_resume() -> None:
    desk = Desk(Cap("max_calls", 4))
    async with desk.budget.within():
        for _ in range(4):
            desk.ask()
            await settle()
            await desk.answer()
    marks = desk.of(BudgetSpent)
    assert marks == [
        BudgetSpent("max_calls", 2, 4, 0.5),
        BudgetSpent("max_calls", 4, 4, 0.8),
        BudgetSpent("max_calls", 4, 4, 1.0),
    ]
    log = [Stamped(n, 0.0, fact) for n, fact in enumerate(desk.facts, 1)]
    again = Desk(Cap("max_calls", 4), past=past(log))
    refusal = again.budget.refusal()
    assert refusal is not None
    assert (refusal.message, refusal.cap) == ("max_calls of 4 was reached", "max_calls")
    assert again.facts == []
    # A mark of another limit says something else.
    higher = Desk(Cap("max_calls", 8), past=past(log))
    assert higher.budget.refusal() is None
    async with higher.budget.within():
        higher.ask()
        await settle()
        await higher.answer()
    assert higher.of(BudgetSpent) == [BudgetSpent("max_calls", 5, 8, 0.5)]


def test_time_closes_the_doors_without_being_asked() -> None:
    async def main() -> str:
        desk = Desk(Cap("max_minutes", 1))
        with pytest.raises(BudgetExhausted, match="max_minutes"):
            async with desk.budget.within():
                call = desk.ask()
                await settle()
                loop = asyncio.get_running_loop()
                loop.call_later(90, desk.waiting[0].set_result, ChatReply("on"))
                await asyncio.Event().wait()
        return (await call).text

    assert in_virtual_time(main()) == "on"


async def test_the_time_of_earlier_processes_counts() -> None:
    began = RunStarted("r", "b", 0, 1, 1, "o", "t", "d", 1, 1, 1, "hard")
    log = [Stamped(1, 100.0, began), Stamped(2, 220.0, CallMade("target", "rollout", CALL))]
    desk = Desk(Cap("max_minutes", 2.0), past=past(log))
    refusal = desk.budget.refusal()
    assert refusal is not None
    assert "max_minutes of 2" in refusal.message


def test_work_that_ends_first_is_left_in_peace() -> None:
    async def main() -> str:
        async with Desk(Cap("max_minutes", 1)).budget.within():
            pass
        await asyncio.sleep(90)
        return "in peace"

    assert in_virtual_time(main()) == "in peace"


async def test_whoever_else_cancels_has_the_word() -> None:
    desk = Desk(Cap("max_calls", 1))

    async def work() -> None:
        async with desk.budget.within():
            call = desk.ask()
            await settle()
            await desk.answer()
            late = desk.ask()
            # Right behind the budget's own cancellation, before the task hears of that.
            loop.call_soon(loop.call_soon, task.cancel)
            await asyncio.gather(call, late)

    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work())
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelling() == 1


async def test_another_error_is_not_taken_for_a_cap() -> None:
    desk = Desk(Cap("max_calls", 1))

    async def work() -> None:
        async with desk.budget.within():
            desk.ask()
            await settle()
            await desk.answer()
            late = desk.ask()
            try:
                await late
            finally:
                raise ServerFailed("for good")

    task = asyncio.ensure_future(work())
    with pytest.raises(ServerFailed):
        await task
    assert task.cancelling() == 0


def greeting(usage: Usage) -> FunctionChat:
    return FunctionChat(lambda request: ChatReply("ok", usage))


@pytest.mark.parametrize(
    ("cap", "usd", "usage", "found"),
    [
        ("max_usd", None, CALL, True),
        ("max_usd", 0.0, Usage(1), False),
        ("max_tokens", 0.0, Usage(1), True),
        ("max_tokens", None, CALL, False),
        ("max_calls", None, Usage(1), False),
    ],
)
async def test_a_first_check_that_does_not_tell_what_a_cap_counts(
    cap: str, usd: float | None, usage: Usage, found: bool
) -> None:
    desk = Desk(Cap(cap, 1000), usd=usd)
    backend = desk.backend("target", greeting(usage))
    await backend.chat(ChatRequest((Message("user", "ok?"),), "preflight"))
    assert (desk.budget.uncounted("target") is not None) == found
    assert desk.budget.uncounted("optimizer") is None


async def test_a_first_check_that_fails_on_its_way_says_nothing_of_the_model() -> None:
    desk = Desk(Cap("max_tokens", 1000))
    answers = [ServerFailed("empty", usage=Usage(1, None, 3)), ChatReply("ok", CALL)]
    backend = desk.backend("target", ScriptedChat(answers))
    greeting = ChatRequest((Message("user", "ok?"),), "preflight")
    with pytest.raises(ServerFailed):
        await backend.chat(greeting)
    await backend.chat(greeting)
    assert desk.budget.uncounted("target") is None


async def test_a_gap_later_on_is_said_once_and_counts_like_the_dearest() -> None:
    desk = Desk(Cap("max_tokens", 1000))
    told: list[Usage] = [CALL, Usage(1, 300, 20), Usage(1), Usage(1)]
    reply: Callable[[ChatRequest], ChatReply] = lambda request: ChatReply("ok", told.pop(0))  # noqa: E731
    backend = desk.backend("target", FunctionChat(reply))
    for _ in range(4):
        await backend.chat(ChatRequest((Message("user", "hi"),), "rollout"))
    (said,) = desk.of(Degraded)
    assert isinstance(said, Degraded)
    assert (
        said.reason
        == "tokens of a call unknown: for max_tokens it counts as the dearest one so far"
    )
    assert desk.budget.use.of("max_tokens") == 10 + 320 + 2 * 320
