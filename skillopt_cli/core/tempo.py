"""Tempo: how many calls to a model may begin per second. Pure.

What a service allows is learnt from its refusals. Over a round, from one reopening after a refusal
to the next, it has let in what it allows: whatever a window or a bucket holds was used up at both
ends. So calls let in over time passed is its rate, whichever way it counts, unless it could have
let in more: because we came too slowly, or were asked to wait longer than needed. From a little
below that rate the tempo climbs, slowly at first, until calls are refused again (the curve of
CUBIC, RFC 9438). Each round that confirms the rate makes the next one longer.

Times are seconds, rates calls per second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from skillopt_cli.core.task import RateLimits

_BELOW = 0.97
"""Share of a known rate at which to go on."""
_BACK = 0.92
"""The same after a refusal that measured nothing."""
_BETWEEN = 0.96
"""Share of a refused rate that may be right where the measured one is a lower bound."""
_FIRST = 0.6
"""The same after the first refusal, when the service's initial burst is used up."""
_FEWEST, _MOST = 16, 160
"""Calls until the tempo is back at the known rate, with the least and the most certainty."""
_ENOUGH = 10
"""Calls let in that make a measurement."""
_LONGEST = 30.0
_LIFT = 0.003
"""Share of the best rate gained each second all the same: else a service that refuses one call in
ten, however slowly they come, would bring the tempo down for ever."""
_LEAST = 1 / 60
"""Calls per second below which no refusal brings the tempo."""
_ROUNDING = 1.0
"""Seconds by which a service may round up what it asks us to wait."""
_HORIZON = 5.0
"""Seconds, at the most, over which to spend what a service says is left."""


@dataclass(frozen=True, slots=True)
class Round:
    """What happened from one reopening to the next.

    Attributes:
        let_in: calls that were not refused.
        length: seconds in all; above 0.
        closed: seconds of them after the refusal that ended it.
        asked: whether the service said how long to wait.
        probes: calls refused while closed; they prove that it was.
        used: calls per second in flight at the end.
    """

    let_in: int
    length: float
    closed: float
    asked: bool
    probes: int
    used: float

    @property
    def measured(self) -> float:
        """Calls per second let in, the wait counted only as far as it was surely needed."""
        spare = min(_ROUNDING, self.closed) if self.asked and not self.proven else 0.0
        return self.let_in / max(self.length - spare, self.length / 2)

    @property
    def proven(self) -> bool:
        """Whether the service was seen to be closed."""
        return self.probes > 1

    @property
    def shut(self) -> bool:
        """Whether it was surely closed for a good part of the time, as windows are."""
        spare = _ROUNDING if self.asked else 0.0
        return self.proven or self.closed - spare > 0.1 * self.length


@dataclass(frozen=True, slots=True)
class Tempo:
    """What is known of a model's rate.

    Attributes:
        known: the rate it was last found to allow.
        climbed: how far the tempo has climbed since; 1 is back at the known rate.
        certain: calls that takes.
        rough: whether the rate is but a guess from below, to be doubled until it is refused.
        rest: seconds the service was last closed.
        early: refusals in a row before the tempo was back at the known rate.
        best: the highest rate measured.
    """

    known: float
    climbed: float = 0.0
    certain: int = _FEWEST
    rough: bool = False
    rest: float = 0.0
    early: int = 0
    best: float = 0.0

    @property
    def rate(self) -> float:
        """Calls that may begin per second now."""
        if self.rough:
            return self.known * math.exp2(min(self.climbed, 30.0))
        return self.known * (_BELOW + (1 - _BELOW) * self.climbed**3)

    def kept(self, echo: float) -> Tempo:
        """A call began, and the tempo was what it waited for.

        Args:
            echo: seconds until a refusal is heard of.
        """
        gap = 1 / self.rate
        if self.rough:
            length = max(8 * gap, 20 * echo, min(2 * self.rest, 5.0))
        else:
            wanted = max(self.certain * gap, 100 * echo, 10 * self.rest)
            length = min(wanted, max(_FEWEST * gap, _LONGEST))
        lifted = self.known + _LIFT * self.best * gap
        return replace(self, known=lifted, climbed=self.climbed + gap / length)

    def after(self, last: Round) -> Tempo:
        """Where to go on after a round that ended in a refusal; always below the present rate."""
        early = self.early + 1 if self.climbed < 1 and not self.rough else 0
        measured, below = last.measured, _BELOW * self.rate
        start = self.known * (1.0 if self.rough else _BELOW)
        if last.let_in < _ENOUGH:
            known = _BACK * self.rate
        elif early or last.shut or start >= measured:
            # It was asked for more than it allows all the time, so it allowed all it does.
            known = min(below, measured) * _BELOW**early
        else:
            # Between what it let in and what it refused.
            back = _BETWEEN * self.rate
            known = math.sqrt(measured * back) if measured < back else min(below, measured)
        if known < 0.8 * self.known:
            certain = _FEWEST
        else:
            certain = self.certain if early else min(_MOST, 2 * self.certain)
        known, best = max(known, _LEAST), max(self.best, min(measured, below))
        return Tempo(known, certain=certain, rest=last.closed, early=early, best=best)


def first_tempo(first: Round) -> Tempo:
    """The tempo after the first refusal.

    What was let in until then holds the service's initial burst; only a service that was closed
    for long, as windows are, has told its rate already.
    """
    enough = first.let_in >= _ENOUGH
    if enough and first.shut and first.closed > 0.25 * first.length:
        return Tempo(first.measured, rest=first.closed)
    known = _FIRST * first.used
    if enough:
        known = min(known, math.sqrt(known * first.measured))
    return Tempo(known, rough=True, rest=first.closed)


def stated_rate(limits: RateLimits, tokens: float, latency: float) -> float | None:
    """The rate a service's own words allow; None where they allow any.

    What comes back per second, and what is left, spent within seconds.

    Args:
        tokens: of a call; 0 while that is not known.
        latency: seconds of a call.
    """
    horizon = max(_HORIZON, 3 * latency)
    calls = _stated(limits.requests, limits.requests_left, limits.requests_reset, horizon)
    words = _stated(limits.tokens, limits.tokens_left, limits.tokens_reset, horizon)
    by_tokens = words / tokens if words is not None and tokens else None
    rates = [rate for rate in (calls, by_tokens) if rate]
    return min(rates) if rates else None


def _stated(
    limit: float | None, left: float | None, reset: float | None, horizon: float
) -> float | None:
    if limit is None or left is None or not reset:
        return None
    return max(0.0, limit - left) / reset + left / min(horizon, reset)
