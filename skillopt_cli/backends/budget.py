"""The budget of a run: what its calls used so far, and the caps that close its doors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from skillopt_cli.backends.doors import Doors
from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.core.caps import FLAGS, MARKS, Cap, Reserve, Use
from skillopt_cli.core.errors import BudgetExhausted
from skillopt_cli.core.events import (
    BUDGET,
    BudgetSpent,
    CallFailed,
    CallMade,
    Degraded,
    Role,
    RunEvent,
    Stamped,
)
from skillopt_cli.core.ledger import PREFLIGHT, Ledger, Spent, Worked, begins_rollout
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend, Emit

NOTHING = Reserve()
_WHOLE = ("max_calls", "max_rollouts")
"""Caps of which a call takes one, so that those in flight can be counted as made."""
_SOME = 1e-12
"""Less than anything costs, and more than what adding fractions leaves over."""


@dataclass(frozen=True, slots=True)
class Past:
    """What the processes before this one used.

    Attributes:
        marks: those announced, as (cap, limit, share).
    """

    ledger: Ledger = field(default_factory=Ledger)
    seconds: float = 0.0
    marks: frozenset[tuple[str, float, float]] = frozenset()

    @classmethod
    def of(cls, facts: Iterable[Stamped]) -> Past:
        """The past that a log tells."""
        ledger, worked, marks = Ledger(), Worked(), set()
        for fact in facts:
            ledger, worked = ledger.after(fact.event), worked.after(fact)
            if isinstance(mark := fact.event, BudgetSpent):
                marks.add((mark.cap, mark.limit, mark.share))
        return cls(ledger, worked.seconds, frozenset(marks))


class Budget:
    """Hears of every call, and lets none begin for which a cap has no room.

    Calls and rollouts in flight count as made, so that those caps are never passed. What a call
    will take of tokens, money and time nobody knows: there the calls in flight may pass the cap. A
    call without room waits as long as one in flight may still come to nothing. When none can, the
    doors close: calls in flight finish and are journaled, then the work is cancelled.

    Attributes:
        caps: those that are set.

    Args:
        past: what earlier processes of the run used.
        clock: seconds, from any start.
    """

    def __init__(
        self,
        caps: Sequence[Cap],
        past: Past,
        emit: Emit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.caps = tuple(caps)
        self._past = past
        self._ledger = past.ledger
        self._marks = set(past.marks)
        self._emit = emit
        self._clock = clock
        self._began: float | None = None
        self._held: float | None = None
        self._doors = Doors()
        self._rollouts = 0
        self._phase = _Phase()
        self._uncounted: dict[Role, Cap] = {}
        self._said: set[str] = set()

    @property
    def use(self) -> Use:
        """What was used so far, by all processes of the run."""
        now = self._clock() if self._held is None else self._held
        own = 0.0 if self._began is None else max(0.0, now - self._began)
        return Use(self._ledger, (self._past.seconds + own) / 60)

    def refusal(self, reserve: Reserve = NOTHING) -> BudgetExhausted | None:
        """The error to begin nothing with; None while something is left beside the reserve."""
        use = self.use
        for cap in self.caps:
            if _left(cap, use, reserve) < _least(cap):
                return self._error(cap, reserve)
        return None

    @property
    def reached(self) -> Cap | None:
        """The cap that ends the work under way; None while none does."""
        return self._phase.reached

    def uncounted(self, role: Role) -> Cap | None:
        """The cap that a role's calls cannot be held to: its first check told too little."""
        return self._uncounted.get(role)

    def cap(self, name: str, limit: float | None) -> None:
        """Set a cap anew from now on, or lift it.

        Args:
            name: one of `FLAGS`.
        """
        self.caps = tuple(cap for cap in self.caps if cap.name != name)
        if limit is not None:
            self.caps += (Cap(name, limit),)
        self._watch_anew()
        self._announce_marks()
        self._doors.ask_again()

    def hold(self) -> None:
        """Stop the clock: the person who runs this paused it."""
        if self._held is None:
            self._held = self._clock()
        self._phase.unwatched()

    def go_on(self) -> None:
        """Let the clock run again."""
        if self._held is not None:
            if self._began is not None:
                self._began += self._clock() - max(self._held, self._began)
            self._held = None
            self._watch_anew()

    def tell(self, event: RunEvent) -> None:
        """Pass a fact on, and book it if it is about a call."""
        self._emit(event)
        if isinstance(event, CallMade | CallFailed):
            self._ledger = self._ledger.after(event)
            self._look_for_gaps(event)
            self._announce_marks()

    @contextmanager
    def in_flight(self, *, rollout: bool) -> Iterator[None]:
        """For the length of a call that was admitted."""
        self._rollouts += rollout
        try:
            yield
        finally:
            self._rollouts -= rollout
            self._doors.leave()

    async def admit(self, *, rollout: bool) -> None:
        """Wait until there is room for one more call."""
        await self._doors.enter(lambda: self._admits(rollout=rollout))

    @asynccontextmanager
    async def within(self, reserve: Reserve = NOTHING) -> AsyncIterator[None]:
        """Work with what the caps leave beside a reserve; one such block after another.

        Raises:
            BudgetExhausted: a cap was reached. The calls that were in flight are journaled.
        """
        phase = self._phase = _Phase(reserve, asyncio.current_task())
        self._begin()
        before = phase.task.cancelling() if phase.task else 0
        try:
            yield
        except asyncio.CancelledError:
            if phase.released() <= before and phase.reached is not None:
                raise self._error(phase.reached, reserve) from None
            raise
        finally:
            phase.released()
            phase.task = None
            phase.unwatched()

    def _begin(self) -> None:
        if self._began is None:
            self._began = self._clock()
        self._doors.open()
        use = self.use
        for cap in self.caps:
            self._tell_of_no_reserve(cap, use)
        self._watch_anew()

    def _watch_anew(self) -> None:
        self._phase.unwatched()
        for cap in self.caps:
            if cap.name == "max_minutes" and self._held is None and self._phase.task is not None:
                self._watch(cap)

    def _watch(self, cap: Cap) -> None:
        """Close the doors when the time is up, asked or not."""
        left = 60 * _left(cap, self.use, self._phase.reserve)
        if left <= 0:
            self._close(cap)
        else:
            self._phase.timer = asyncio.get_running_loop().call_later(left, self._watch, cap)

    def _admits(self, *, rollout: bool) -> bool:
        use, room = self.use, True
        for cap in self.caps:
            if cap.name == "max_rollouts" and not rollout:
                continue
            left = _left(cap, use, self._phase.reserve)
            if left < _least(cap):
                self._close(cap)
                return False
            in_flight = {"max_calls": self._doors.inside, "max_rollouts": self._rollouts}
            room = room and left - in_flight.get(cap.name, 0) >= _least(cap)
        return room

    def _close(self, cap: Cap) -> None:
        if self._phase.reached is not None:
            return
        self._phase.reached = cap
        self._doors.close(self._phase.cancel)
        self._tell_of_no_reserve(cap, self.use)
        self._announce_marks()

    def _error(self, cap: Cap, reserve: Reserve) -> BudgetExhausted:
        kept = reserve.kept(cap, self.use)
        amount = f"{kept:.0f}" if kept >= 100 else f"{kept:.3g}"
        less = f", less {amount} kept for the final test," if kept else ""
        hint = f"raise it with {FLAGS[cap.name]}"
        return BudgetExhausted(f"{cap}{less} was reached", hint, cap=cap.name)

    def _tell_of_no_reserve(self, cap: Cap, use: Use) -> None:
        if cap.name in self._said or self._phase.reserve.fits(cap, use):
            return
        self._said.add(cap.name)
        reason = (
            f"{cap} cannot pay for baseline, one step and final test: nothing is kept for the test"
        )
        self._emit(Degraded(BUDGET, reason))

    def _look_for_gaps(self, event: CallMade | CallFailed) -> None:
        """Notice a call that does not tell what a cap must know of it."""
        spent = Spent.of(event)
        gaps = {"max_usd": spent.unpriced, "max_tokens": spent.silent}
        cap = next((cap for cap in self.caps if gaps.get(cap.name)), None)
        if cap is None:
            return
        if event.stage == PREFLIGHT:
            # Of a try that failed nobody expects more: the one that succeeds has the word.
            if isinstance(event, CallMade):
                self._uncounted[event.role] = cap
        elif "gaps" not in self._said:
            self._said.add("gaps")
            what = "tokens" if spent.silent else "price"
            reason = f"{what} of a call unknown: for {cap.name} it counts as the dearest one so far"
            self._emit(Degraded(BUDGET, reason))

    def _announce_marks(self) -> None:
        use = self.use
        for cap in self.caps:
            spent = use.of(cap.name)
            for share in MARKS:
                mark = (cap.name, cap.limit, share)
                if spent >= share * cap.limit and mark not in self._marks:
                    self._marks.add(mark)
                    self._emit(BudgetSpent(cap.name, spent, cap.limit, share))


@dataclass(slots=True)
class _Phase:
    """Work under way, and what was done to end it.

    Attributes:
        task: who works; None once it no longer does.
        reached: the cap that closed the doors.
        cancelled: whether the task was cancelled for that, and has not been released from it.
    """

    reserve: Reserve = NOTHING
    task: asyncio.Task[Any] | None = None
    reached: Cap | None = None
    timer: asyncio.TimerHandle | None = None
    cancelled: bool = False

    def cancel(self) -> None:
        """End the work, if it has not ended meanwhile."""
        if self.task is not None:
            self.cancelled = True
            self.task.cancel()

    def unwatched(self) -> None:
        """Watch the time no longer."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def released(self) -> int:
        """Take the cancellation back; returns how many others there are, as `asyncio` counts."""
        if self.task is None:
            return 0
        if not self.cancelled:
            return self.task.cancelling()
        self.cancelled = False
        return self.task.uncancel()


def _left(cap: Cap, use: Use, reserve: Reserve) -> float:
    return cap.limit - use.of(cap.name) - reserve.kept(cap, use)


def _least(cap: Cap) -> float:
    """What must be left of a cap for a call to begin."""
    return 1.0 if cap.name in _WHOLE else _SOME


class Budgeted(Wrapper):
    """A backend whose calls the budget must admit."""

    def __init__(self, inner: ChatBackend, role: Role, budget: Budget) -> None:
        super().__init__(inner)
        self._role: Role = role
        self._budget = budget

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply, once there is room for the call."""
        rollout = begins_rollout(self._role, request.stage, request.turn)
        await self._budget.admit(rollout=rollout)
        with self._budget.in_flight(rollout=rollout):
            return await self._inner.chat(request)
