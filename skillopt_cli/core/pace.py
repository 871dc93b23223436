"""Pace: how many calls to a model may be in flight, and how soon the next may begin. Pure.

What a service allows is learnt from its refusals. Between two refusals of the same kind it has
allowed exactly what it allows: whatever a window or a bucket held was used up at both, so calls
answered over time passed is its rate, whichever way it counts. From a little below that rate the
pace climbs slowly, then ever faster, until it is refused again (the curve of CUBIC, RFC 9438).

All times are seconds on one clock; rates are calls per second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from skillopt_cli.core.task import RateLimits

_BELOW = 0.96
"""Share of a measured rate at which to go on."""
_FIRST = 0.55
"""The same after the first refusal, when what was measured holds the service's initial burst."""
_ROUND = 3.0
"""Seconds, at the least, until a pace is back at the rate it was refused at."""
_CALLS = 80
"""Calls, at the least, until then: each round costs a refusal or two."""
_AT_FIRST = 32
"""Most calls in flight before the first answers: a burst is what services refuse first."""
_MOST_PATIENCE = 200
_PATIENT = 4
"""Refusals in a row from which one call asks on behalf of all."""
_CALM = 5.0
"""Seconds without climbing after a failure of the service."""
_MOST_DOUBLINGS = 30.0
_ENOUGH = 5
"""Answers that make a measurement."""
_SLACK = 0.05
"""Seconds by which a late call may be made up for."""
_LONGEST_PAUSE = 5.0
_SCARCE = 0.25
"""Share of a service's own limit below which what it says of it counts."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A call under way: when it began, and how many were then in flight, itself included."""

    at: float
    in_flight: int


@dataclass(frozen=True, slots=True)
class Pace:
    """What is known of a model's limits.

    Attributes:
        ceiling: most calls in flight, ever; at least 1.
        window: most calls in flight now, from 1 to `ceiling`.
        known: the rate it was last found to allow; None before any refusal.
        cuts: refusals that told a rate.
        since: when the last one was, or when the first call began.
        acted: when a refusal was last acted on; those of calls begun before are part of it.
        answered: calls since then.
        refused: refusals in a row without an answer between them.
        most: calls in flight when one that was answered began, at the most.
        smooth: answers since the window last changed.
        patience: answers to wait for before the window is widened by one.
        dead, lost: seconds since the last cut in which nobody began, and in which the rate did not
            climb because the service had failed, until `calm_until`.
        next_at: when the next call may begin, by the rate.
        closed_until: nobody begins before that.
        said: the rate the service itself states, while little is left of its limit.
        latency: of an answered call, smoothed.
        tokens: of an answered call, smoothed; 0 while none told.
    """

    ceiling: int
    window: int
    known: float | None = None
    cuts: int = 0
    since: float | None = None
    acted: float = -math.inf
    cut_at: float = 0.0
    answered: int = 0
    refused: int = 0
    most: int = 0
    smooth: int = 0
    patience: int = 8
    dead: float = 0.0
    lost: float = 0.0
    calm_until: float = 0.0
    next_at: float = 0.0
    closed_until: float = 0.0
    said: float | None = None
    latency: float = 0.0
    tokens: float = 0.0

    @classmethod
    def open(cls, ceiling: int) -> Pace:
        """No limit but the ceiling."""
        return cls(ceiling, min(ceiling, _AT_FIRST))

    @property
    def limit(self) -> int:
        """Most calls in flight; while nothing is answered at all, one asks on behalf of all."""
        return 1 if self.refused > _PATIENT else self.window

    def rate(self, now: float) -> float | None:
        """Most calls begun per second; None where nothing limits them."""
        learnt = None if self.known is None else self.known * self._climb(now)
        rates = [rate for rate in (learnt, self.said) if rate is not None]
        return min(rates) if rates else None

    def opens_at(self, in_flight: int) -> float | None:
        """When the next call may begin, maybe long ago; None where one must end first."""
        return None if in_flight >= self.limit else max(self.next_at, self.closed_until)

    def began(self, now: float) -> Pace:
        """A call began."""
        since = now if self.since is None else self.since
        rate = self.rate(now)
        if rate is None:
            return replace(self, since=since)
        return replace(self, since=since, next_at=max(self.next_at, now - _SLACK) + 1 / rate)

    def replied(self, call: Begun, now: float, limits: RateLimits | None, tokens: int) -> Pace:
        """A call was answered.

        Args:
            limits: what the service said of its limits with the answer.
            tokens: read and written; 0 where that is not known.
        """
        fresh = call.at > self.acted
        told = replace(
            self,
            # What was let in before the last refusal says nothing of what is let in since.
            answered=self.answered + (call.at > (self.since or -math.inf)),
            refused=0 if fresh else self.refused,
            most=max(self.most, call.in_flight),
            latency=_smoothed(self.latency, now - call.at),
            tokens=_smoothed(self.tokens, tokens) if tokens else self.tokens,
        )._widened()
        return told if limits is None else replace(told, said=_said(limits, told.tokens))

    def limited(self, call: Begun, now: float, retry_after: float | None) -> Pace:
        """A call was refused because there were too many.

        Args:
            retry_after: seconds the service asks everybody to wait, where it says so.
        """
        held = self._closed(now + (retry_after or 0.0), now)
        if call.at <= self.acted:
            return held  # of the same burst, sent before the service was known to be full
        held = replace(held, acted=now, smooth=0)
        if call.in_flight > self.most > 0:
            # As many at a time have never been answered: that may be what the service counts.
            patience = min(_MOST_PATIENCE, 2 * self.patience)
            return replace(held, window=max(1, call.in_flight - 1), patience=patience)
        held = replace(held, refused=self.refused + 1)
        if self.answered >= _ENOUGH:
            return held._cut(now)
        if self.known is not None and self.refused < _PATIENT:
            return held._slowed(0.7 * (self.rate(now) or self.known), now)
        pause = 0.0 if retry_after else min(_LONGEST_PAUSE, 0.25 * 1.5**self.refused)
        return held._closed(now + pause, now)

    def failed(self, now: float) -> Pace:
        """A call came to nothing for a reason that has nothing to do with their number."""
        until = now + _CALM
        more = until - max(now, self.calm_until)
        return replace(self, lost=self.lost + more, calm_until=until)

    def _widened(self) -> Pace:
        """One more at a time after enough answers; twice as many as long as nothing was refused."""
        if self.window == self.ceiling:
            return self
        smooth = self.smooth + 1
        if smooth < max(self.window, self.patience):
            return replace(self, smooth=smooth)
        untold = self.acted == -math.inf
        window = min(self.ceiling, 2 * self.window if untold else self.window + 1)
        return replace(self, smooth=0, window=window)

    def _cut(self, now: float) -> Pace:
        """What a refusal teaches, after enough answers since the last one that did."""
        # What was let in during the last latency is not answered yet.
        span = max(now - (self.since or 0.0) - self.latency, 1e-3)
        measured, rate = self.answered / span, self.rate(now)
        if self.known is None or rate is None:
            # Too much by whatever the service had saved up for us.
            known = measured * _FIRST
        elif self.dead > 0.3 * span or rate < self.known:
            # It was full all the time, so it allowed what it allows.
            known = measured
        else:
            known = min(0.85 * rate, 2.5 * measured)
        closed = max(0.0, self.closed_until - now)
        return replace(self._slowed(known, now), since=now, answered=0, dead=closed)

    def _slowed(self, known: float, now: float) -> Pace:
        """Go on at a rate, and climb from there."""
        return replace(
            self,
            known=known,
            cuts=self.cuts + 1,
            cut_at=now,
            lost=max(0.0, self.closed_until - now),
            calm_until=now,
            next_at=max(self.next_at, now + 1 / known),
        )

    def _climb(self, now: float) -> float:
        """Share of the known rate allowed now."""
        still = max(0.0, self.calm_until - now) + max(0.0, self.closed_until - now)
        passed = max(0.0, now - self.cut_at - self.lost + still)
        if self.cuts == 1:
            return math.pow(2.0, min(_MOST_DOUBLINGS, passed / max(1.0, 2 * self.latency)))
        length = max(_ROUND, 5 * self.latency, _CALLS / (self.known or 1.0))
        return _BELOW + (1 - _BELOW) * math.pow(passed / length, 3)

    def _closed(self, until: float, now: float) -> Pace:
        """Nobody begins before a time."""
        more = max(0.0, until - max(now, self.closed_until))
        until = max(self.closed_until, until)
        return replace(self, closed_until=until, dead=self.dead + more, lost=self.lost + more)


def _smoothed(old: float, new: float) -> float:
    return new if not old else 0.9 * old + 0.1 * new


def _said(limits: RateLimits, tokens: float) -> float | None:
    """The rate at which a service fills up what little is left; None where enough is left."""
    calls = _refill(limits.requests, limits.requests_left, limits.requests_reset)
    words = _refill(limits.tokens, limits.tokens_left, limits.tokens_reset)
    by_tokens = words / tokens if words is not None and tokens else None
    rates = [rate for rate in (calls, by_tokens) if rate is not None]
    return min(rates) if rates else None


def _refill(limit: float | None, left: float | None, reset: float | None) -> float | None:
    """What comes back per second, where less than a share of the limit is left."""
    if limit is None or left is None or not reset or left >= _SCARCE * limit:
        return None
    return (limit - left) / reset
