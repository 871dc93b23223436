"""Caps: how much of one is used, what work will cost of it, and what is kept back for the end.

Pure: `backends.middleware.budget` acts on it.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt_cli.core.ledger import Ledger

CAPS = ("max_usd", "max_calls", "max_tokens", "max_rollouts", "max_minutes")
"""The caps: settings of the section `run`."""

MARKS = (0.5, 0.8, 1.0)
"""Shares of a cap that are announced once passed."""


MARGIN = 1.25
"""Factor on the averages by which work that comes last is kept for: its calls may take more."""


@dataclass(frozen=True, slots=True)
class Cap:
    """A cap: one of `CAPS`, and its limit in the unit of the name."""

    name: str
    limit: float

    def __str__(self) -> str:
        return f"{self.name} of {self.limit:.10g}"


def cap_flag(name: str) -> str:
    """The flag that sets a cap."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class Use:
    """What a run has used so far.

    Attributes:
        minutes: of work, over all its processes.
    """

    ledger: Ledger
    minutes: float = 0.0

    def of(self, cap: str) -> float:
        """How much of a cap is used.

        A call of which the tokens, or the price, are not known counts like the dearest one so far:
        it was not for nothing.
        """
        ledger = self.ledger
        match cap:
            case "max_usd":
                return (ledger.total.usd or 0.0) + ledger.total.unpriced * ledger.most_usd
            case "max_calls":
                return ledger.total.calls
            case "max_tokens":
                return (ledger.total.tokens or 0) + ledger.total.silent * ledger.most_tokens
            case "max_rollouts":
                return ledger.rollouts
            case "max_minutes":
                return self.minutes
        raise ValueError(f"there is no cap {cap!r}")

    def cost(self, work: Work, cap: str) -> float | None:
        """What `work` will use of a cap, by this run's own averages; None before there are any.

        A rollout is one rollout and, until the run knows better, one call. What its judge is asked
        is part of it.
        """
        if cap == "max_rollouts":
            return work.rollouts
        target = self.ledger.at_work("target") + self.ledger.at_work("judge")
        optimizer = self.ledger.at_work("optimizer")
        made = self.ledger.rollouts
        if cap == "max_calls":
            return work.rollouts * (target.calls / made if made else 1.0) + work.asks
        if not made:
            return None
        if cap == "max_minutes":
            # Asking the optimizer is part of the minutes that the rollouts so far took.
            return work.rollouts * self.minutes / made
        if cap == "max_usd":
            each, ask = target.usd or 0.0, optimizer.usd or 0.0
        else:
            each, ask = target.tokens or 0, optimizer.tokens or 0
        return work.rollouts * each / made + work.asks * ask / max(1, optimizer.calls)


@dataclass(frozen=True, slots=True)
class Work:
    """An amount of work: rollouts, and calls to the optimizer."""

    rollouts: int = 0
    asks: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.rollouts + other.rollouts, self.asks + other.asks)


@dataclass(frozen=True, slots=True)
class Reserve:
    """Work that comes last.

    Attributes:
        first: what the cap must be able to pay for beside it; else nothing is kept back.
    """

    last: Work = Work()
    first: Work = Work()

    def fits(self, cap: Cap, use: Use) -> bool:
        """Whether the cap can pay for both, as far as that is known."""
        first = use.cost(self.first, cap.name) or 0.0
        return first + self._wanted(cap, use) <= cap.limit

    def kept(self, cap: Cap, use: Use) -> float:
        """What is kept back of a cap; 0 where it could not pay for both, or nothing is known."""
        return self._wanted(cap, use) if self.fits(cap, use) else 0.0

    def _wanted(self, cap: Cap, use: Use) -> float:
        """What the last work may take of a cap: with a margin where averages decide it."""
        margin = 1.0 if cap.name in ("max_calls", "max_rollouts") else MARGIN
        return margin * (use.cost(self.last, cap.name) or 0.0)
