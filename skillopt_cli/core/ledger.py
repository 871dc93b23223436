"""The ledger: what model calls cost, by role and stage. A fold over the facts about calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from skillopt_cli.core.copies import changed
from skillopt_cli.core.events import (
    CallFailed,
    CallMade,
    DriftAllowed,
    Role,
    RunContinued,
    RunEvent,
    RunPaused,
    RunStarted,
    Stamped,
)

N = TypeVar("N", int, float)

PREFLIGHT = "preflight"
"""The stage of the one tiny call to each model before a run."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What some calls cost. Sums are over what was reported, None where nothing was.

    Attributes:
        calls: calls that were answered and so paid for, with an answer that could be used or not.
        failed: failed tries, those with an answer of no use included.
        cached_tokens: the part of `prompt_tokens` that came from a service's cache.
        reasoning_tokens: the part of `completion_tokens` that is no part of an answer.
        usd: the price in US dollars.
        silent: calls without a full token count; the sums of tokens are then lower bounds.
        unpriced: calls of unknown price; `usd` is then a lower bound.
    """

    calls: int = 0
    failed: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    usd: float | None = None
    silent: int = 0
    unpriced: int = 0

    @classmethod
    def of(cls, event: CallMade | CallFailed) -> Spent:
        """What one call cost, or one try that failed."""
        usage, failed = event.usage, int(isinstance(event, CallFailed))
        if usage is None:
            return cls(failed=failed)
        counted = usage.prompt_tokens is not None and usage.completion_tokens is not None
        return cls(
            calls=usage.calls,
            failed=failed,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            usd=event.usd,
            silent=0 if counted else usage.calls,
            unpriced=usage.calls if event.usd is None else 0,
        )

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.failed + other.failed,
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.completion_tokens, other.completion_tokens),
            _sum(self.cached_tokens, other.cached_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
            _sum(self.usd, other.usd),
            self.silent + other.silent,
            self.unpriced + other.unpriced,
        )

    @property
    def tokens(self) -> int | None:
        """Tokens read and written, None when neither was reported."""
        return _sum(self.prompt_tokens, self.completion_tokens)


@dataclass(frozen=True)
class Ledger:
    """All calls of a run so far, over all its processes.

    Attributes:
        rows: by role and stage.
        total: of all rows.
        rollouts: attempts at tasks that the target has begun to answer.
        most_tokens, most_usd: of the dearest call so far whose count, or price, is known.
    """

    rows: Mapping[tuple[Role, str], Spent] = field(default_factory=dict)
    total: Spent = Spent()
    rollouts: int = 0
    most_tokens: int = 0
    most_usd: float = 0.0

    def after(self, event: RunEvent) -> Ledger:
        """The ledger once `event` is booked; facts that are not about calls alter nothing."""
        if not isinstance(event, CallMade | CallFailed):
            return self
        spent, key = Spent.of(event), (event.role, event.stage)
        begun = isinstance(event, CallMade) and begins_rollout(event.role, event.stage, event.turn)
        return changed(
            self,
            rows={**self.rows, key: self.rows.get(key, Spent()) + spent},
            total=self.total + spent,
            rollouts=self.rollouts + begun,
            most_tokens=max(self.most_tokens, 0 if spent.silent else spent.tokens or 0),
            most_usd=max(self.most_usd, spent.usd or 0.0),
        )

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles a run has: the judge is one where it was asked."""
        judged = any(role == "judge" for role, _ in self.rows)
        return ("target", "optimizer", "judge") if judged else ("target", "optimizer")

    def by_role(self, role: Role) -> Spent:
        """What a role's calls cost."""
        return sum((spent for (of, _), spent in self.rows.items() if of == role), Spent())

    def at_work(self, role: Role) -> Spent:
        """What a role's calls cost without the first check, which is no sample of the others."""
        rows = self.rows.items()
        return sum((s for (of, stage), s in rows if of == role and stage != PREFLIGHT), Spent())


def ledger_of(facts: Iterable[Stamped]) -> Ledger:
    """The ledger of a log.

    Nothing is dropped: a call whose step was worked on again after a crash was still paid for.
    """
    ledger = Ledger()
    for fact in facts:
        ledger = ledger.after(fact.event)
    return ledger


def begins_rollout(role: Role, stage: str, turn: int) -> bool:
    """Whether a call is the first one of an attempt at a task."""
    return role == "target" and stage != PREFLIGHT and turn == 0


@dataclass(frozen=True)
class Worked:
    """Time spent at work by the processes of a run, pauses between them left out.

    Attributes:
        before: seconds of the processes that have ended.
        began, latest: Unix seconds of the newest process's first and latest fact; what it was
            held for is taken off by moving `began`.
        held: whether it is, by the person who runs it.
    """

    before: float = 0.0
    began: float = 0.0
    latest: float = 0.0
    held: bool = False

    def after(self, fact: Stamped) -> Worked:
        """The time once `fact` is heard."""
        if isinstance(fact.event, RunStarted):
            return Worked(self.seconds, fact.time, fact.time)
        if isinstance(fact.event, DriftAllowed):
            return self  # from a process that has not begun; the pause before it was no work
        if self.held:
            return self._released(fact.time) if isinstance(fact.event, RunContinued) else self
        held = isinstance(fact.event, RunPaused)
        return changed(self, latest=fact.time, held=held) if self.began else self

    def _released(self, now: float) -> Worked:
        return changed(self, began=self.began + now - self.latest, latest=now, held=False)

    @property
    def seconds(self) -> float:
        """All of it, up to the latest fact."""
        return self.before + max(0.0, self.latest - self.began)


def _sum(a: N | None, b: N | None) -> N | None:
    return b if a is None else a if b is None else a + b
