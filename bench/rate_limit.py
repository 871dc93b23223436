"""How well calls fit what services allow: `python bench/rate_limit.py [--runs N] [NAME ...]`.

A loopback server answers after two seconds, over HTTP, and admits what each row of the table names.
The calls go through the real SDK and everything that a run puts around a backend. The least
possible time is that of a caller who knows the limit and the faults beforehand.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parent))

from local_server import Answer, serving
from results import keep

from skillopt_cli.backends.chat.openai_compatible import SPEC
from skillopt_cli.backends.middleware.budget import Budget, PastUse
from skillopt_cli.backends.middleware.stack import CallPolicy, SharedLimits, stack
from skillopt_cli.backends.rate_limiter.limiter import Provider, RateLimiter
from skillopt_cli.backends.rate_limiter.stop_gate import StopGate
from skillopt_cli.config.model_section import ModelConfig, RetryConfig
from skillopt_cli.core.errors import BackendError
from skillopt_cli.core.events import CallFailed, RunEvent
from skillopt_cli.core.task import ChatRequest, Message
from skillopt_cli.ports import RoleSettings, lifetime

CALLS, LATENCY, WORKERS = 960, 2.0, 48
DEMAND = WORKERS / LATENCY
THIRD = DEMAND / 3
UNLIMITED = CALLS / DEMAND
BEGIN, OUTAGE = 5.0, 60.0
TOKENS = 1000
"""Tokens of a call, on average."""

Refusal = tuple[int, float]
"""Status and Retry-After in seconds, 0 for none."""


class Limit(Protocol):
    """Decides on each call as it comes."""

    def refusal(self, now: float, in_flight: int, tokens: int) -> Refusal | None:
        """Return None for a call that is admitted."""

    def headers(self) -> dict[str, str]:
        """Return the headers of an answer that state the limit."""


@dataclass
class Bucket:
    """A token bucket that holds a second's worth.

    Attributes:
        counts: what is limited, requests or tokens.
        stated: whether answers state the limit.
        later: the rate after a while, and when.
    """

    rate: float
    counts: str = "requests"
    stated: bool = False
    later: tuple[float, float] | None = None
    held: float | None = None
    at: float = 0.0

    def refusal(self, now: float, in_flight: int, tokens: int) -> Refusal | None:
        if self.later is not None and now >= self.later[1]:
            self.rate, self.later = self.later[0], None
        cost = tokens if self.counts == "tokens" else 1
        held = self.rate if self.held is None else self.held
        self.held = min(self.rate, held + (now - self.at) * self.rate)
        self.at = now
        if self.held < cost:
            return 429, (cost - self.held) / self.rate
        self.held -= cost
        return None

    def headers(self) -> dict[str, str]:
        if not self.stated:
            return {}
        held = self.held or 0.0
        return {
            f"x-ratelimit-limit-{self.counts}": f"{self.rate:.0f}",
            f"x-ratelimit-remaining-{self.counts}": f"{held:.0f}",
            f"x-ratelimit-reset-{self.counts}": f"{1000 * (1 - held / self.rate):.0f}ms",
        }


@dataclass
class CountingWindow:
    """So many calls in any ten seconds; refused calls count, too."""

    rate: float
    log: deque[float] = field(default_factory=deque)

    def refusal(self, now: float, in_flight: int, tokens: int) -> Refusal | None:
        while self.log and self.log[0] <= now - 10:
            self.log.popleft()
        most = round(10 * self.rate)
        full = len(self.log) >= most
        self.log.append(now)
        return (429, self.log[-most] + 10 - now) if full else None

    def headers(self) -> dict[str, str]:
        return {}


@dataclass
class Crowd:
    """So many calls at a time."""

    calls: int

    def refusal(self, now: float, in_flight: int, tokens: int) -> Refusal | None:
        return (429, 0.0) if in_flight > self.calls else None

    def headers(self) -> dict[str, str]:
        return {}


@dataclass
class Faults:
    """Shares of calls that are refused or fail at random, and a time in which all fail."""

    refused: float = 0.0
    failed: float = 0.0
    outage: tuple[float, float] | None = None
    dice: random.Random = field(default_factory=lambda: random.Random(1))

    def refusal(self, now: float, in_flight: int, tokens: int) -> Refusal | None:
        if self.outage is not None and self.outage[0] <= now < self.outage[1]:
            return 503, 0.0
        drawn = self.dice.random()
        if drawn < self.refused:
            return 429, 0.0
        return (500, 0.0) if drawn < self.refused + self.failed else None

    def headers(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True)
class Row:
    """A service: its limit, the least possible seconds, and what is allowed beyond.

    Attributes:
        most: ratio to the least possible time.
        share: of calls that may be refused; None for those that are refused at random.
    """

    open: Callable[[], Limit]
    least: float
    most: float = 1.15
    share: float | None = 0.03


ROWS = {
    "no limit": Row(lambda: Faults(), UNLIMITED, 1.1),
    "5 % random 429, 2 % random 500": Row(lambda: Faults(0.05, 0.02), UNLIMITED, 1.2, None),
    "requests per minute, a third": Row(lambda: Bucket(THIRD), CALLS / THIRD - 1 + LATENCY),
    "the same, stated in headers": Row(
        lambda: Bucket(THIRD, stated=True), CALLS / THIRD - 1 + LATENCY
    ),
    "tokens per minute, a third": Row(
        lambda: Bucket(THIRD * TOKENS, "tokens"), CALLS / THIRD - 1 + LATENCY
    ),
    "16 calls at a time": Row(lambda: Crowd(16), CALLS * LATENCY / 16),
    "refusals count, a third": Row(
        # The last window's calls take two rounds of the workers.
        lambda: CountingWindow(THIRD),
        (CALLS / THIRD / 10 - 1) * 10 + ceil(10 * THIRD / WORKERS) * LATENCY,
    ),
    "a third, after 15 s half": Row(
        lambda: Bucket(THIRD, later=(DEMAND / 2, 15.0)),
        15 + (CALLS - 16 * THIRD) / (DEMAND / 2) + LATENCY,
    ),
    "outage of 60 s": Row(
        lambda: Faults(outage=(BEGIN, BEGIN + OUTAGE)),
        OUTAGE + UNLIMITED,
        (OUTAGE + 1.1 * UNLIMITED) / (OUTAGE + UNLIMITED),
        None,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows to run; all unless given")
    parser.add_argument("--runs", type=int, default=1, help="times each row is run")
    parser.add_argument("--keep", action="store_true", help="write the results file")
    given = parser.parse_args()
    print(f"{CALLS} calls of {LATENCY:g} s, {WORKERS} workers\n")
    print(f"{'service':32} {'least':>7} {'took':>7} {'ratio':>6} {'target':>6} refused broken")
    records = [row(name, n) for name in given.names or ROWS for n in range(1, given.runs + 1)]
    if given.keep:
        keep("limits", records)
    sys.exit(any(record["missed"] for record in records))


def row(name: str, seed: int) -> dict[str, Any]:
    """Run a row, print it, and return its record; the seed draws the random faults."""
    planned = ROWS[name]
    took, refused, broken = measured(name, seed)
    ratio, share = took / planned.least, refused / (CALLS + refused)
    good = ratio <= planned.most and not broken
    good &= planned.share is None or share <= planned.share
    print(
        f"{name:32} {planned.least:5.1f} s {took:5.1f} s {ratio:6.3f} {planned.most:6.3f} "
        f"{100 * share:5.1f} % {broken:6}{'' if good else '  missed'}",
        flush=True,
    )
    return {
        "service": name,
        "least": round(planned.least, 1),
        "took": round(took, 1),
        "ratio": round(ratio, 3),
        "most": round(planned.most, 3),
        "refused": round(share, 4),
        "most_refused": planned.share,
        "broken": broken,
        "missed": not good,
    }


def measured(name: str, seed: int) -> tuple[float, int, int]:
    """Make all calls; seconds taken, calls answered with 429, and calls given up."""
    with serving(LimitedService, name, seed) as address:
        return asyncio.run(ask(f"{address}/v1"))


async def ask(url: str) -> tuple[float, int, int]:
    refused: list[RunEvent] = []

    def hear(event: RunEvent) -> None:
        if isinstance(event, CallFailed) and event.error == "RateLimited":
            refused.append(event)

    assert SPEC.open is not None
    backend = SPEC.open(RoleSettings(role="target", model="m", base_url=url))
    policy = CallPolicy("target", WORKERS, 60.0, RetryConfig())
    budget = Budget((), PastUse(), hear)
    limiter = RateLimiter(Provider(64), outage_wait=ModelConfig().outage_wait)
    chat = stack(backend, policy, SharedLimits(limiter, budget, StopGate()))
    begun = time.monotonic()
    async with lifetime(chat), budget.within():
        requests = [ChatRequest((Message("user", f"call {n}"),), "rollout") for n in range(CALLS)]
        asked = (chat.chat(request) for request in requests)
        replies = await asyncio.gather(*asked, return_exceptions=True)
    took = time.monotonic() - begun
    return took, len(refused), sum(isinstance(reply, BackendError) for reply in replies)


class LimitedService:
    """Answers after `LATENCY` what the limit of a row admits."""

    def __init__(self, name: str, seed: int) -> None:
        self._limit = ROWS[name].open()
        if isinstance(self._limit, Faults):
            self._limit.dice.seed(seed)
        self._clock = asyncio.get_running_loop().time
        self._in_flight, self._begun = 0, 0.0

    async def answer(self, path: str, body: bytes) -> Answer:
        """Answer a call, or refuse it at once."""
        self._begun = self._begun or self._clock()
        tokens = TOKENS // 2 + hash(body) % TOKENS
        self._in_flight += 1
        refusal = self._limit.refusal(self._clock() - self._begun, self._in_flight, tokens)
        headers = self._limit.headers()
        if refusal is None:
            await asyncio.sleep(LATENCY)
        self._in_flight -= 1
        if refusal is not None:
            status, wait = refusal
            return Answer({"error": {}}, status, {"retry-after": f"{wait:.3f}"} if wait else {})
        message = {"role": "assistant", "content": "ok"}
        choice = {"message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": tokens - 1, "completion_tokens": 1}
        return Answer({"choices": [choice], "usage": usage}, headers=headers)


if __name__ == "__main__":
    main()
