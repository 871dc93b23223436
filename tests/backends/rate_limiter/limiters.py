"""Rate limiters as services have them, and a simulation of calls that keep `AdaptiveLimits`."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

from skillopt_cli.backends.rate_limiter.adaptive import AdaptiveLimits
from skillopt_cli.core.task import RateLimits


class Limiter(Protocol):
    """Decides on each call as it comes."""

    def refuses(self, now: float, in_flight: int) -> float | None:
        """None lets a call in; else the seconds until one would be."""

    def least(self, calls: int) -> float:
        """Seconds the limit makes so many calls take, at the least."""

    def tells(self, now: float) -> RateLimits | None:
        """What the service says of its limit in its headers."""


@dataclass
class Bucket:
    """A token bucket: a burst, then so many calls per second."""

    rate: float
    burst: float
    tokens: float = field(init=False)
    at: float = 0.0

    def __post_init__(self):
        self.tokens = self.burst

    def refuses(self, now, in_flight):
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens < 1:
            return (1 - self.tokens) / self.rate
        self.tokens -= 1
        return None

    def least(self, calls):
        return max(0.0, (calls - self.burst) / self.rate)

    def tells(self, now):
        reset = (self.burst - self.tokens) / self.rate
        return RateLimits(self.burst, math.floor(self.tokens), reset)


@dataclass
class FixedWindow:
    """So many calls in each period of a clock."""

    calls: int
    period: float
    number: int = -1
    used: int = 0

    def refuses(self, now, in_flight):
        number = int(now // self.period)
        if number != self.number:
            self.number, self.used = number, 0
        if self.used == self.calls:
            return (number + 1) * self.period - now
        self.used += 1
        return None

    def least(self, calls):
        return (calls - 1) // self.calls * self.period

    def tells(self, now):
        reset = (self.number + 1) * self.period - now
        return RateLimits(self.calls, self.calls - self.used, reset)


@dataclass
class SlidingWindow:
    """So many calls in any period; with `harsh`, refused calls count, too."""

    calls: int
    period: float
    harsh: bool = False
    log: deque[float] = field(default_factory=deque)

    def refuses(self, now, in_flight):
        while self.log and self.log[0] <= now - self.period:
            self.log.popleft()
        full = len(self.log) >= self.calls
        if not full or self.harsh:
            self.log.append(now)
        return self.log[-self.calls] + self.period - now if full else None

    def least(self, calls):
        return (calls - 1) // self.calls * self.period

    def tells(self, now):
        reset = self.log[0] + self.period - now if self.log else 0.0
        return RateLimits(self.calls, self.calls - len(self.log), reset)


@dataclass
class Crowd:
    """So many calls at a time, however fast they come."""

    calls: int
    latency: float

    def refuses(self, now, in_flight):
        return 0.0 if in_flight > self.calls else None

    def least(self, calls):
        return calls * self.latency / self.calls

    def tells(self, now):
        return None


@dataclass
class Noise:
    """Refuses a share of all calls, however many come, else as the limiter inside; asks to wait."""

    share: float
    inner: Any = None
    wait: float = 0.0
    random: random.Random = field(default_factory=lambda: random.Random(5))

    def refuses(self, now, in_flight):
        if self.random.random() < self.share:
            return self.wait
        return self.inner.refuses(now, in_flight) if self.inner else None

    def least(self, calls):
        return self.inner.least(calls) if self.inner else 0.0

    def tells(self, now):
        return self.inner.tells(now) if self.inner else None


@dataclass
class Changing:
    """One limiter until some time, then another."""

    first: Any
    second: Any
    at: float

    def refuses(self, now, in_flight):
        return (self.first if now < self.at else self.second).refuses(now, in_flight)

    def tells(self, now):
        return (self.first if now < self.at else self.second).tells(now)


@dataclass(frozen=True)
class Load:
    """What is asked.

    Attributes:
        workers: most calls that want to be in flight.
        latency: seconds of a call, ; refusals come within 20 ms.
        hint: what a refusal brings: "exact" or rounded "up" Retry-After, or "none".
        headers: whether answers tell the limit.
        spread: of the latency, as a share of it.
    """

    workers: int
    latency: float
    calls: int = 2400
    hint: str = "none"
    headers: bool = False
    ceiling: int = 64
    seed: int = 0
    spread: float = 0.3


@dataclass
class Outcome:
    seconds: float
    refused: int
    calls: int
    most_in_flight: int
    limits: AdaptiveLimits

    def share(self) -> float:
        """Refused calls among all."""
        return self.refused / (self.calls + self.refused)


def simulated(limiter, load: Load) -> Outcome:
    """Play all calls in virtual time; refused ones ask again. AssertionError where none may go."""
    random_ = random.Random(load.seed)
    limits, now = AdaptiveLimits(load.ceiling), 0.0
    left, done, refused, in_flight, inside, most = load.calls, 0, 0, 0, 0, 0
    numbers = itertools.count()
    events: list[tuple[float, int, str, Any, Any]] = []
    while done < load.calls:
        opens = limits.opens_at() if left and in_flight < load.workers else None
        if opens is not None and opens <= now:
            left, in_flight = left - 1, in_flight + 1
            most = max(most, in_flight)
            call = limits.began(now)
            arrival = now + random_.uniform(0.001, 0.01)
            heapq.heappush(events, (arrival, next(numbers), "arrives", call, None))
            continue
        moments = [*([events[0][0]] if events else []), *([] if opens is None else [opens])]
        assert moments, "nobody may begin"
        now = min(moments)
        while events and events[0][0] <= now:
            at, _, kind, call, heard = heapq.heappop(events)
            if kind == "again":
                left += 1
                continue
            if kind == "arrives":
                inside += 1
                wait = limiter.refuses(at, inside)
                told = limiter.tells(at) if load.headers and wait is None else None
                long = load.latency * random_.uniform(1 - load.spread, 1 + load.spread)
                end = at + (long if wait is None else random_.uniform(0.002, 0.01))
                heapq.heappush(events, (end, next(numbers), "ends", call, (wait, told)))
                continue
            (wait, told), in_flight, inside = heard, in_flight - 1, inside - 1
            if wait is None:
                done += 1
                limits.answered(call, at, told, 0)
            else:
                refused += 1
                hint = {"exact": wait or None, "up": math.ceil(wait) or None, "none": None}
                again = at + (hint[load.hint] or 0.0)
                heapq.heappush(events, (again, next(numbers), "again", call, None))
                limits.refused(call, at, hint[load.hint])
            limits.ended(call)
    return Outcome(now, refused, load.calls, most, limits)
