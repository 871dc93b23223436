"""The budget of a run: its use so far, and the caps that end its work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.backends.rate_limiter.stop_gate import StopGate
from skillopt_cli.core.caps import MARKS, Cap, Reserve, Use, Work, cap_flag
from skillopt_cli.core.errors import BudgetExhausted
from skillopt_cli.core.events import (
    BUDGET,
    BudgetSpent,
    CallFailed,
    CallMade,
    Degraded,
    Role,
    RunEvent,
)
from skillopt_cli.core.ledger import PREFLIGHT, Ledger, Spent, begins_rollout
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend, Emit

NOTHING = Reserve()
_WHOLE = ("max_calls", "max_rollouts")
"""Caps that count whole calls, so that calls in flight can be counted as made."""
_UNKNOWN_AHEAD = ("max_usd", "max_tokens")
"""Caps on what of a call is known once it has ended."""
_SOME = 1e-12
"""Below any cost, and above the rounding error of sums."""


@dataclass(frozen=True, slots=True)
class PastUse:
    """Use by earlier processes of the run.

    Attributes:
        marks: the announced ones, as (cap, limit, share).
    """

    ledger: Ledger = field(default_factory=Ledger)
    seconds: float = 0.0
    marks: frozenset[tuple[str, float, float]] = frozenset()


class Budget:
    """Accounts for every call, and admits none that would exceed a cap.

    Calls and rollouts in flight count as made, so that these caps are never exceeded. Tokens and
    money of a call are unknown before it ends: calls in flight count by the averages so far, the
    first rollout is made alone, and what a call takes beyond that exceeds the cap. So does the time
    of the calls in flight. A call that would exceed a cap waits while a call in flight may still
    leave room. Once none can, the budget closes: calls in flight finish and are journaled, then the
    work is cancelled.

    Attributes:
        caps: those that are set.

    Args:
        past: use by earlier processes of the run.
        clock: seconds, from any start.
    """

    def __init__(
        self,
        caps: Sequence[Cap],
        past: PastUse,
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
        self._stop_gate = StopGate()
        self._rollouts = 0
        self._phase = _Phase()
        self._uncounted: dict[Role, Cap] = {}
        self._said: set[str] = set()

    @property
    def use(self) -> Use:
        """Use so far, by all processes of the run."""
        now = self._clock() if self._held is None else self._held
        own = 0.0 if self._began is None else max(0.0, now - self._began)
        return Use(self._ledger, (self._past.seconds + own) / 60)

    def refusal(self, reserve: Reserve = NOTHING) -> BudgetExhausted | None:
        """Return the error of an exhausted budget; None while more than `reserve` is left."""
        use = self.use
        for cap in self.caps:
            if _left(cap, use, reserve) < _least(cap):
                return self._error(cap, reserve)
        return None

    @property
    def reached(self) -> Cap | None:
        """The cap that ends the present work; None while none does."""
        return self._phase.reached

    def uncounted(self, role: Role) -> Cap | None:
        """Return the cap that cannot apply to a role, since its preflight reported too little."""
        return self._uncounted.get(role)

    def cap(self, name: str, limit: float | None) -> None:
        """Set a cap, or remove it.

        Args:
            name: one of `CAPS`.
        """
        self.caps = tuple(cap for cap in self.caps if cap.name != name)
        if limit is not None:
            self.caps += (Cap(name, limit),)
        self._watch_anew()
        self._announce_marks()
        self._stop_gate.recheck()

    def hold(self) -> None:
        """Stop the clock, for a paused run."""
        if self._held is None:
            self._held = self._clock()
        self._phase.unwatched()

    def go_on(self) -> None:
        """Restart the clock."""
        if self._held is not None:
            if self._began is not None:
                self._began += self._clock() - max(self._held, self._began)
            self._held = None
            self._watch_anew()

    def emit(self, event: RunEvent) -> None:
        """Emit an event, and account for it if it is about a call."""
        self._emit(event)
        if isinstance(event, CallMade | CallFailed):
            self._ledger = self._ledger.after(event)
            self._look_for_gaps(event)
            self._announce_marks()

    @contextmanager
    def in_flight(self, *, rollout: bool) -> Iterator[None]:
        """Count an admitted call as in flight until the block ends."""
        self._rollouts += rollout
        try:
            yield
        finally:
            self._rollouts -= rollout
            self._stop_gate.leave()

    async def admit(self, *, rollout: bool) -> None:
        """Wait until there is room for one more call."""
        await self._stop_gate.enter(lambda: self._admits(rollout=rollout))

    @asynccontextmanager
    async def within(self, reserve: Reserve = NOTHING) -> AsyncIterator[None]:
        """Run a block of work with what the caps leave beyond a reserve; blocks do not overlap.

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
        self._stop_gate.open()
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
        """Close the budget when the time is up, even without a call."""
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
            room = room and left - self._in_flight(cap, use) >= _least(cap)
            room = room and not (rollout and self._rollouts and _unknown(cap, use))
        return room

    def _in_flight(self, cap: Cap, use: Use) -> float:
        """What the calls in flight take of a cap, as far as that is known."""
        match cap.name:
            case "max_calls":
                return self._stop_gate.inside
            case "max_rollouts":
                return self._rollouts
            case "max_minutes":
                return 0.0
        others = self._stop_gate.inside - self._rollouts
        return use.cost(Work(self._rollouts, others), cap.name) or 0.0

    def _close(self, cap: Cap) -> None:
        if self._phase.reached is not None:
            return
        self._phase.reached = cap
        self._stop_gate.close(self._phase.cancel)
        self._tell_of_no_reserve(cap, self.use)
        self._announce_marks()

    def _error(self, cap: Cap, reserve: Reserve) -> BudgetExhausted:
        kept = reserve.kept(cap, self.use)
        amount = f"{kept:.0f}" if kept >= 100 else f"{kept:.3g}"
        less = f", less {amount} kept for the final test," if kept else ""
        hint = f"raise it with {cap_flag(cap.name)}"
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
        """Note a call without the usage or price that a cap needs."""
        spent = Spent.of(event)
        gaps = {"max_usd": spent.unpriced, "max_tokens": spent.silent}
        cap = next((cap for cap in self.caps if gaps.get(cap.name)), None)
        if cap is None:
            return
        if event.stage == PREFLIGHT:
            # A failed try need not report usage; the successful one decides.
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
    """The present block of work, and its cancellation.

    Attributes:
        task: the task that runs the block; None after it.
        reached: the cap that closed the budget.
        cancelled: whether the task was cancelled for that, and the cancellation is still pending.
    """

    reserve: Reserve = NOTHING
    task: asyncio.Task[Any] | None = None
    reached: Cap | None = None
    timer: asyncio.TimerHandle | None = None
    cancelled: bool = False

    def cancel(self) -> None:
        """Cancel the task, if it still runs."""
        if self.task is not None:
            self.cancelled = True
            self.task.cancel()

    def unwatched(self) -> None:
        """Cancel the timer."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def released(self) -> int:
        """Undo the cancellation; return how many others are pending, as `asyncio` counts."""
        if self.task is None:
            return 0
        if not self.cancelled:
            return self.task.cancelling()
        self.cancelled = False
        return self.task.uncancel()


def _left(cap: Cap, use: Use, reserve: Reserve) -> float:
    return cap.limit - use.of(cap.name) - reserve.kept(cap, use)


def _unknown(cap: Cap, use: Use) -> bool:
    """Whether a cap counts what rollouts take, and none is answered yet."""
    return cap.name in _UNKNOWN_AHEAD and not use.ledger.rollouts


def _least(cap: Cap) -> float:
    """What must remain of a cap for a call to begin."""
    return 1.0 if cap.name in _WHOLE else _SOME


class Budgeted(Wrapper):
    """A backend whose calls need the budget's admission."""

    def __init__(self, inner: ChatBackend, role: Role, budget: Budget) -> None:
        super().__init__(inner)
        self._role: Role = role
        self._budget = budget

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the inner reply, after waiting for the budget's admission."""
        rollout = begins_rollout(self._role, request.stage, request.turn)
        await self._budget.admit(rollout=rollout)
        with self._budget.in_flight(rollout=rollout):
            return await self._inner.chat(request)
