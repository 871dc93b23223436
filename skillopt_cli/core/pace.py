"""Pace: when the next call to a model may begin. Pure.

A refusal shuts the model: nobody begins until the service's Retry-After is over, or else a short
while that grows. Then one call goes ahead, and when that is not refused the rest follow, at the
`Tempo` and within the `Breadth` that the refusal has taught. Refusals of calls that began before
the model was shut belong to the same burst and teach nothing more.

Times are seconds on one clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt_cli.core.breadth import Breadth
from skillopt_cli.core.task import RateLimits
from skillopt_cli.core.tempo import Round, Tempo, first_tempo, stated_rate

_SLACK = 0.02
"""Seconds by which a late call may be made up for."""
_CALM = 5.0
"""Seconds without growth after a failure of the service."""
_SHORTEST, _LONGEST, _GROWTH = 0.02, 5.0, 1.5
"""Seconds to stay shut where the service does not say how long, and how much longer each time."""
_LONG = 2.0
"""Seconds shut from which on a first burst is about a rate."""
_BRIEF = 1e-3


@dataclass(frozen=True, slots=True)
class Begun:
    """A call under way: when it began, and how many were then in flight, itself included."""

    at: float
    in_flight: int


@dataclass(frozen=True, slots=True)
class Shut:
    """Why and since when nobody begins.

    Attributes:
        at: when the refusal came.
        in_flight: calls in flight when the refused one began.
        burst: whether they may just have been too many at once.
        asked: whether the service said how long to wait.
        last: when the last call began that was refused since.
        probes: calls sent ahead since then and refused.
        ahead: when the present one began; None while there is none.
    """

    at: float
    in_flight: int
    burst: bool
    asked: bool
    last: float
    probes: int = 0
    ahead: float | None = None

    def in_vain(self, began: float) -> Shut:
        """The call sent ahead was refused, too."""
        return replace(self, last=began, probes=self.probes + 1, ahead=None)


@dataclass(frozen=True, slots=True)
class Pace:
    """What is known of a model's limits.

    Attributes:
        tempo: None before a refusal taught a rate.
        said: the rate the service itself states.
        shut: None while calls may begin.
        before: the pace before the last reopening, until that is confirmed by an answer.
        cuts: refusals that made the pace slower.
        since: when the round began; None before the first call.
        idle: seconds of this round in which it was us who asked for less than was allowed.
        let_in: calls begun in this round and not refused.
        acted: when a refusal was last acted on.
        next_at: when the next call may begin, by the rate.
        closed_until: nobody begins before, by the service's word or ours.
        calm_until: nothing grows before.
        echo: until a refusal is heard of, at the most, lately.
        latency: of an answered call, smoothed.
        tokens: of an answered call, smoothed; 0 while none told.
    """

    breadth: Breadth
    tempo: Tempo | None = None
    said: float | None = None
    shut: Shut | None = None
    before: Pace | None = None
    cuts: int = 0
    since: float | None = None
    idle: float = 0.0
    let_in: int = 0
    acted: float = -1.0
    next_at: float = 0.0
    closed_until: float = 0.0
    calm_until: float = 0.0
    echo: float = 0.0
    latency: float = 0.0
    tokens: float = 0.0

    def under(self, ceiling: int) -> Pace:
        """The pace with another ceiling on calls in flight."""
        return replace(self, breadth=self.breadth.under(ceiling))

    @classmethod
    def open(cls, ceiling: int) -> Pace:
        """No limit but the ceiling on calls in flight."""
        return cls(Breadth.open(ceiling))

    @property
    def rate(self) -> float | None:
        """Most calls begun per second; None where nothing limits them."""
        learnt = None if self.tempo is None else self.tempo.rate
        rates = [rate for rate in (learnt, self.said) if rate is not None]
        return min(rates) if rates else None

    def opens_at(self, in_flight: int) -> float | None:
        """When the next call may begin, maybe long ago; None where one must end first."""
        if in_flight >= self.breadth.width:
            return None
        return max(self.next_at, self.closed_until)

    def began(self, now: float, in_flight: int = 1) -> Pace:
        """A call began, which `opens_at` allowed.

        Args:
            in_flight: calls in flight, itself included.
        """
        if self.shut is not None and self.shut.ahead is None:
            return self._sent_ahead(self.shut, now)
        pace = self._reopened()
        gap = 0.0 if pace.rate is None else 1 / pace.rate
        tempo, idle = pace.tempo, pace.idle
        late = now - max(pace.next_at, pace.closed_until)
        if tempo is not None and late > _SLACK and in_flight < pace.breadth.width:
            idle += late
        elif tempo is not None and late <= _SLACK and now >= pace.calm_until:
            tempo = tempo.kept(pace.echo)
        return replace(
            pace,
            tempo=tempo,
            since=now if pace.since is None else pace.since,
            idle=idle,
            let_in=pace.let_in + 1,
            next_at=max(pace.next_at, now - _SLACK) + gap,
        )

    def answered(self, call: Begun, now: float, limits: RateLimits | None, tokens: int) -> Pace:
        """A call was answered.

        Args:
            limits: what the service said of its limits with the answer.
            tokens: read and written; 0 where that is not known.
        """
        pace = self
        if pace.shut is not None and pace.shut.ahead is not None and call.at >= pace.shut.ahead:
            pace = pace._reopened()
        pace = replace(
            pace,
            latency=_smoothed(pace.latency, now - call.at),
            tokens=_smoothed(pace.tokens, tokens) if tokens else pace.tokens,
        )
        if pace.shut is None and call.at >= (pace.since or 0.0):
            # What was let in before the last refusal says nothing of what is let in since.
            breadth = pace.breadth.answered(call.in_flight, now >= pace.calm_until)
            pace = replace(pace, before=None, breadth=breadth)
        if limits is None:
            return pace
        return replace(pace, said=stated_rate(limits, pace.tokens, pace.latency))

    def limited(self, call: Begun, now: float, retry_after: float | None, left: int) -> Pace:
        """A call was refused because there were too many.

        Args:
            retry_after: seconds the service asks everybody to wait, where it says so.
            left: calls still in flight.
        """
        pace = replace(
            self,
            echo=max(0.95 * self.echo, min(_LONGEST, now - call.at)),
            closed_until=max(self.closed_until, now + (retry_after or 0.0)),
        )
        shut = pace.shut
        if shut is not None and call.at == shut.ahead:
            return replace(pace, shut=shut.in_vain(call.at))._wait(now)
        if call.at >= (pace.since or 0.0):
            pace = replace(pace, let_in=pace.let_in - 1)
        if shut is not None:
            crowd = shut.burst and shut.ahead is None and pace.let_in > 0
            return replace(pace, breadth=pace.breadth.burst(left)) if crowd else pace
        if pace.before is not None and pace.let_in <= 0:
            return pace._not_reopened(now)
        if call.at < (pace.since or 0.0) or call.at <= pace.acted:
            return pace
        return pace._refused(call, now, asked=bool(retry_after), left=left)

    def failed(self, now: float) -> Pace:
        """A call came to nothing for a reason that has nothing to do with their number."""
        return replace(self, calm_until=now + _CALM)

    def _refused(self, call: Begun, now: float, *, asked: bool, left: int) -> Pace:
        """Shut the model, unless fewer calls in flight are all it takes."""
        breadth, explained = self.breadth.refused(call.in_flight)
        if explained:
            return replace(self, breadth=breadth, acted=now, cuts=self.cuts + 1)
        burst = not breadth.cramped and call.in_flight > breadth.proven
        if burst and self.let_in > 0:
            breadth = breadth.burst(left)
        shut = Shut(now, call.in_flight, burst, asked, last=now)
        return replace(self, breadth=breadth, acted=now, shut=shut)._wait(now)

    def _wait(self, now: float) -> Pace:
        """Stay shut for a while that grows with every call sent ahead in vain."""
        probes = self.shut.probes if self.shut else 0
        rate = self.rate
        base = max(self.echo, _SHORTEST if rate is None else 1 / rate)
        pause = min(max(base, _LONGEST), base * _GROWTH**probes)
        return replace(self, closed_until=max(self.closed_until, now + pause))

    def _sent_ahead(self, shut: Shut, now: float) -> Pace:
        """The others wait until it would have been refused."""
        gap = 0.0 if self.rate is None else 1 / self.rate
        return replace(self, shut=replace(shut, ahead=now), next_at=now + max(gap, 3 * self.echo))

    def _reopened(self) -> Pace:
        """The call sent ahead was let in: a round is over, and has taught what it has."""
        shut = self.shut
        if shut is None or shut.ahead is None:
            return self
        fresh = replace(self, shut=None, since=shut.ahead, idle=0.0, let_in=1, cuts=self.cuts + 1)
        closed = shut.ahead - shut.at
        untaught = self.tempo is None and self.let_in <= 0
        if untaught or (shut.burst and shut.probes < 2 and closed < _LONG):
            return fresh
        # Without being told we only know between which two calls it reopened.
        opened = shut.ahead if shut.asked else (shut.last + shut.ahead) / 2
        length = max(opened - (self.since or 0.0) - self.idle, _BRIEF)
        used = shut.in_flight / self.latency if self.latency else self.let_in / length
        last = Round(max(0, self.let_in), length, closed, shut.asked, shut.probes, used)
        tempo = first_tempo(last) if self.tempo is None else self.tempo.after(last)
        return replace(fresh, tempo=tempo, before=replace(self, before=None))

    def _not_reopened(self, now: float) -> Pace:
        """What looked like a reopening was none: the refusals just took long to come."""
        old = self.before
        if old is None or old.shut is None:
            return self
        shut = old.shut.in_vain(old.shut.ahead or now)
        return replace(
            old,
            shut=shut,
            acted=now,
            next_at=now,
            cuts=self.cuts,
            echo=self.echo,
            closed_until=self.closed_until,
        )._wait(now)


def _smoothed(old: float, new: float) -> float:
    return new if not old else 0.9 * old + 0.1 * new
