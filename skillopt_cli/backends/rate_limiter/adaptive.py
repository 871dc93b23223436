"""What is known about a model's limits, and when the next call may begin.

Two limits are learned from refusals: calls in flight, and calls begun per second. Each grows by
additive increase and falls by multiplicative decrease, at most once per round trip, as the
congestion window of TCP does (AIMD, RFC 5681). A decrease returns to what the service was measured
to accept, as in TCP Westwood, instead of a fixed share. Which of the two limits a refusal is about
follows from the calls in flight: a refusal beyond the number that was ever accepted at once is
about that number, every other one is about the rate. Refusals that a lower limit does not end are
noise, and the limits return to where they were.

A refusal closes the model until Retry-After is over, or without one for a short pause that grows.
Then one call goes ahead, and the others follow when its refusal would have arrived. From one such
reopening to the next the service accepted exactly what it allows, whether it counts by buckets or
windows, which is how the rate is measured.

Times are seconds on one clock, rates calls per second. Nothing here reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt_cli.backends.rate_limiter.aimd import AimdLimit
from skillopt_cli.backends.rate_limiter.noise import RefusalNoise
from skillopt_cli.backends.rate_limiter.token_bucket import TokenBucket
from skillopt_cli.core.task import RateLimits

_AT_FIRST = 16
"""Most calls in flight before the first is answered: a burst is what services refuse first."""
_STRETCH_OF_CALLS, _STRETCH = 8, 40
"""Calls at a limit that must be accepted before it grows, at least: in flight, and per second."""
_FULL = 0.9
"""Share of the width that counts as filled: answers in transit blur the count."""
_FIRST, _BELOW, _DEEP, _DEEPEST = 0.65, 0.97, 0.75, 0.3
"""Decreases: of the first throughput, below a measured rate, without one, and at most at once."""
_NEAR = 0.7
"""Share of the highest measured rate that a limit must regain for its decrease to have helped."""
_FADE = 0.97
_ENOUGH, _BUSY = 8, 0.8
"""Calls that make a measurement, and the share of them that must have waited for the rate."""
_PROMPT = 0.002
"""Seconds of lateness with which a call still counts as delayed by the rate."""
_SLACK = 0.02
"""Seconds of lateness that the next calls may catch up."""
_SHORTEST, _LONGEST, _GROWTH = 0.02, 5.0, 1.5
"""Shortest and longest pause in seconds without a Retry-After, and its growth per refused probe."""
_RESTS, _LONGEST_STRETCH = 5.0, 30.0
"""Closed times in a stretch, for services that close for long; and its seconds at most."""
_ROUNDING = 0.5
"""Seconds by which a wait in whole seconds is longer than needed, on average."""
_SLOWEST = 1 / 60
_PACED, _PACED_UNREFUSED = 2, 4
"""How much faster than the width allows calls may begin where that many were never accepted: in
general, and where calls were answered and no limit was lowered yet."""
_BURST, _UNKNOWN = 8, 1.0
"""Most calls that begin at once before any is answered, and how long one is then taken to last."""
_UNUSED = 1.1
"""Share of what the width allows from which a rate limits nothing, so that it does not grow."""
_ARRIVED = 3
"""Times a refusal takes after which it would have arrived."""
_FIRST_TRY = 1 / 8
"""Share of the last closed time after which a service that states no Retry-After is asked."""


@dataclass(frozen=True, slots=True, eq=False)
class StartedCall:
    """A call in flight.

    Attributes:
        at: when it began.
        in_flight: calls in flight then, including itself.
        held: whether nothing but the learned rate delayed it, if there is one.
    """

    at: float
    in_flight: int
    held: bool = True


class AdaptiveLimits:
    """Decides when calls to a model begin, by what became of earlier ones.

    Attributes:
        ceiling: most calls in flight, ever; may be changed.
        decreases: how often a limit was lowered.
        refusals: which of them are noise.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.decreases = 0
        self.refusals = RefusalNoise()
        self._under_way: set[StartedCall] = set()
        self._beside: set[StartedCall] = set()
        self._width = AimdLimit(_AT_FIRST, calls=True)
        self._crowded = False
        self._proven = 0
        self._rate: AimdLimit | None = None
        self._requests, self._tokens = TokenBucket(), TokenBucket()
        self._latency = self._tokens_each = self._echo = 0.0
        # Since the last reopening.
        self._since = 0.0
        self._let_in = self._held = 0
        # Since the last decrease.
        self._lowered: AimdLimit | None = None
        self._lowered_at = -1.0
        self._accepted_since = True
        self._before: tuple[float, float | None] | None = None
        self._peak = 0.0
        # Of the present or last closure.
        self._closed_at = self._first_closed_at = -1.0
        self._closed_until = self._next_at = self._rest = 0.0
        self._probing = False
        self._probed_at = self._spare = 0.0
        self._refused_probes = 0
        self._to_lower: StartedCall | None = None

    @property
    def in_flight(self) -> int:
        """Calls in flight."""
        return len(self._under_way)

    @property
    def width(self) -> int:
        """Most calls in flight now."""
        return max(1, min(self.ceiling, int(self._width.value)))

    @property
    def rate(self) -> float | None:
        """Most calls begun per second now, as learned; None while unlimited."""
        return None if self._rate is None else self._rate.value

    def opens_at(self) -> float | None:
        """When the next call may begin, possibly in the past; None if a call must end first."""
        if self.in_flight >= self.width:
            return None
        stated = max(self._requests.ready_at(1.0), self._tokens.ready_at(self._tokens_each))
        return max(self._next_at, self._closed_until, stated)

    def began(self, now: float) -> StartedCall:
        """Count a call that begins now."""
        if self._to_lower is not None and not self._probing:
            self._lower_rate(self._to_lower)
            self._to_lower = None
        gap = self._gap()
        held = self._rate is None or now - self._next_at <= max(gap, _PROMPT)
        self._next_at = max(self._next_at, now - _SLACK) + gap
        if self._probing:
            self._probing, self._probed_at = False, now
            if self._rate is None and now - self._since > _LONGEST_STRETCH:
                self._since, self._let_in, self._held = now, 0, 0
            self._next_at = max(self._next_at, now + _ARRIVED * self._echo)
        self._requests.take(now, 1.0)
        self._tokens.take(now, self._tokens_each)
        self._let_in += 1
        self._held += held
        call = StartedCall(now, self.in_flight + 1, held)
        self._under_way.add(call)
        return call

    def _gap(self) -> float:
        """Seconds between two calls; those beyond the number accepted before come one by one."""
        if self._rate is not None:
            return 1 / self._rate.value
        beyond = self.in_flight >= (self._proven or _BURST)
        if self._refused_probes or beyond:
            faster = _PACED_UNREFUSED if self._latency and not self.decreases else _PACED
            return (self._latency or _UNKNOWN) / (faster * self.width)
        return 0.0

    def ended(self, call: StartedCall) -> None:
        """Count a call as ended, whatever became of it."""
        self._under_way.discard(call)

    def answered(
        self, call: StartedCall, now: float, limits: RateLimits | None = None, tokens: int = 0
    ) -> None:
        """Learn from an answered call, which still counts as in flight.

        Args:
            limits: from the headers of the answer.
            tokens: read and written; 0 if unknown.
        """
        self._latency = _smoothed(self._latency, now - call.at)
        if tokens:
            self._tokens_each = _smoothed(self._tokens_each, tokens)
        if limits is not None:
            self._requests.state(now, limits.requests, limits.requests_left, limits.requests_reset)
            self._tokens.state(now, limits.tokens, limits.tokens_left, limits.tokens_reset)
        self.refusals.count(refused=False)
        if self._refused_probes and call.at >= self._closed_at:
            self._rest, self._refused_probes = call.at - self._first_closed_at, 0
        if call.at >= self._lowered_at:
            self._accepted(call)

    def refused(self, call: StartedCall, now: float, retry_after: float | None) -> None:
        """Learn from a call that was refused for exceeding a limit.

        Args:
            retry_after: seconds the service asks to wait; None if it states none.
        """
        self._echo = max(0.95 * self._echo, min(_LONGEST, now - call.at))
        if call.at >= self._since:
            self._let_in -= 1
            self._held -= call.held
        if call in self._beside:
            self._beside.remove(call)
            self._width.value = self._accepted_beside()
        self.refusals.count(refused=True)
        if self.refusals.expected:
            return
        self._close(call, now, retry_after)
        if call.at < self._lowered_at or not self._accepted_since:
            # Of the same burst, or of the same round trip.
            return
        if self._rate is not None and self._let_in <= _ENOUGH:
            # Too soon after the last reopening for a measurement.
            return
        if self._crowded or self._rate is not None or self.refusals.suggests_limit():
            self._lower(call, now)

    def _accepted(self, call: StartedCall) -> None:
        """Grow the limits that an answered call used up."""
        self._accepted_since = True
        # Of a burst, some calls that began before it were refused since.
        self._proven = max(self._proven, min(call.in_flight, self.in_flight))
        if call.in_flight >= self.width < self.ceiling:
            if self._crowded:
                self._width.accepted(max(_STRETCH_OF_CALLS, self._width.value))
            else:
                self._width.value = min(2.0 * self._width.value, self.ceiling)
        if call.held and self._rate is not None and not self._unused(self._rate.value):
            seconds = max(self._latency, min(_RESTS * self._rest, _LONGEST_STRETCH))
            self._rate.accepted(max(_STRETCH, self._rate.value * seconds))
        regained = self._rate is None or self._rate.value >= _NEAR * self._peak
        if self._lowered is not None and self._lowered.climbed and regained:
            self.refusals.effective()
            self._before = None

    def _unused(self, rate: float) -> bool:
        """Whether the calls in flight alone keep within a rate."""
        return rate * self._latency >= _UNUSED * self.width

    def _close(self, call: StartedCall, now: float, retry_after: float | None) -> None:
        """Let no call begin for as long as asked, or for a pause; then let one go ahead."""
        if call.at >= self._closed_until:
            self._closed_at = now
            if not self._refused_probes or call.at > self._probed_at:
                self._first_closed_at = now
            base = max(self._echo, _SHORTEST if self._rate is None else 1 / self._rate.value)
            if retry_after is None:
                base = max(base, _FIRST_TRY * self._rest)
            pause = min(max(base, _LONGEST), base * _GROWTH**self._refused_probes)
            self._refused_probes += 1
            self._closed_until = max(self._closed_until, now + pause)
        self._closed_until = max(self._closed_until, now + (retry_after or 0.0))
        self._spare = _ROUNDING if retry_after and retry_after % 1 == 0 else 0.0
        self._probing = True

    def _lower(self, call: StartedCall, now: float) -> None:
        """Lower the limit that a refusal is about, or none if that did not help before."""
        self._before = self._before or (self._width.value, self.rate)
        if self.refusals.retracted():
            self._peak = 0.0
        if self.refusals.proven_by_decrease():
            self._restore(*self._before)
            return
        full = call.in_flight >= min(_FULL * self.width, self.width - 1)
        beyond = max(call.in_flight, self.in_flight) > self._proven
        if not self._latency or beyond or (full and self.width > self._proven):
            # A refusal before any answer is about the burst, so that the width doubles again.
            self._crowded, self._lowered = bool(self._latency), self._width
            self._beside = self._under_way - {call}
            self._width.decrease(self._accepted_beside())
            self.decreases += 1
        else:
            self._to_lower = call
        self.refusals.decreased()
        self._lowered_at, self._accepted_since = now, False

    def _accepted_beside(self) -> int:
        """Calls that were accepted at once: as proven, or beside one that was refused."""
        return max(1, min(self.width, max(self._proven, len(self._beside))))

    def _lower_rate(self, call: StartedCall) -> None:
        """Lower the rate to the one accepted from the last reopening to this one."""
        used = max(call.in_flight, self._proven) / self._latency
        self._peak *= _FADE
        self.decreases += 1
        if self._rate is None:
            # What was accepted is measured from before on: windows may be full of earlier bursts.
            self._rate = self._lowered = AimdLimit(_FIRST * used, refused=used)
            self._crowded = False
            return
        if self._let_in > _ENOUGH and self._held >= _BUSY * self._let_in:
            seconds = self._probed_at - self._since
            rate, seconds = self._rate.value, max(seconds - self._spare, seconds / 2, 1e-3)
            measured = _BELOW * (self._let_in - 1) / seconds
            self._peak = max(self._peak, measured)
            most = (_BELOW if self.refusals.vain < 3 else _DEEP) * rate
            lower = min(most, max(measured, self._rate.kept))
            self._rate.decrease(max(lower, _DEEPEST * rate, _SLOWEST))
        else:
            self._rate.decrease(max(_DEEP * min(self._rate.value, used), _SLOWEST))
        self._lowered = self._rate
        self._since, self._let_in, self._held = self._probed_at, 1, 0

    def _restore(self, width: float, rate: float | None) -> None:
        """Return to the limits before decreases that were in vain."""
        self._width = AimdLimit(width, calls=True)
        known = rate is not None and self.refusals.doubted
        self._rate = AimdLimit(max(rate or 0.0, self._peak)) if known else None
        self._crowded, self._before, self._to_lower = False, None, None
        self._closed_until = 0.0


def _smoothed(old: float, new: float) -> float:
    return new if not old else 0.9 * old + 0.1 * new
