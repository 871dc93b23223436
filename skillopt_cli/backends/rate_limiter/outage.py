"""The circuit breaker of a model: during an outage calls wait, and one at a time tries again."""

from __future__ import annotations

_FAILURES = 4
"""Failures in a row that may be an outage."""
_LASTS = 0.25
"""Seconds without an answer since the first of them, at least."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 2.0
"""Seconds between two probes, at least and at most."""
_DELAY = 1 / 60
"""Share of an outage that a pause between two probes adds to it at most, unless it is short."""
AHEAD = 64
"""Most calls in flight during an outage."""
_FOLLOWS = 3
"""Times as long as the last failure took after which another call follows a probe."""


class Outage:
    """Whether a service that has answered before answers nothing but failures now.

    It opens when calls have failed in a row for a quarter of a second, and at least as many as are
    still in flight, since those may yet be answered. A request that failed before others
    began that were answered does not count: it is the cause itself. It closes with the first
    answer, or when `wait` seconds passed without one; after that it stays closed until there is an
    answer.

    While it is open one call at a time tries again. Where it would have failed by now, others
    follow one by one without its answer, but not all: a service that hangs gets no more of them,
    and a single one once calls have failed that late.

    Times are seconds on one clock.

    Attributes:
        since: when it opened; None while it is closed.
        waited: seconds of all earlier outages.

    Args:
        wait: longest outage to wait for; 0 for none.
    """

    def __init__(self, wait: float) -> None:
        self.wait = wait
        self.since: float | None = None
        self.waited = 0.0
        self._armed = False
        self._in_flight = 0
        self._failures = 0
        self._first_at = 0.0
        self._failed: dict[int, float] = {}
        self._failed_before: set[int] = set()
        self._probe: float | None = None
        self._took = 0.0
        self._next_at = 0.0

    def opens_at(self) -> float | None:
        """When the next call may begin, possibly in the past; None if a call must end first."""
        if self.since is None:
            return 0.0
        if self._probe is None:
            return self._next_at
        if self._in_flight >= AHEAD:
            return None
        return max(self._next_at, self._probe + _FOLLOWS * self._took)

    def began(self, now: float) -> None:
        """Note that a call begins now, as a probe during an outage."""
        self._in_flight += 1
        if self.since is not None:
            self._probe = now

    def answered(self, request: int, began: float, now: float) -> None:
        """Note an answer to a request, whose call began then; it ends an outage."""
        few = len(self._failed) < self._enough()
        causes = {failed for failed, at in self._failed.items() if few or at <= began}
        for failed in causes:
            del self._failed[failed]
        self._failed_before |= causes
        self._failed_before.discard(request)
        self._close(now, armed=self.wait > 0)

    def failed(self, request: int, began: float, now: float, retry_after: float | None) -> None:
        """Note the failure of a request, whose call still counts as in flight."""
        self._took = now - began
        if request not in self._failed_before:
            self._first_at = self._first_at if self._failures else now
            self._failures += 1
            self._failed.setdefault(request, began)
        if self.since is None:
            enough = self._failures >= self._enough()
            if not (self._armed and enough and now - self._first_at >= _LASTS):
                return
            self.since = now
        elif now - self.since >= self.wait:
            self._close(now, armed=False)
            return
        pause = min(max(_SHORTEST_PAUSE, _DELAY * (now - self.since)), _LONGEST_PAUSE)
        self._next_at = max(self._next_at, now + max(pause, retry_after or 0.0))

    def left(self, began: float) -> None:
        """Note that a call ended, whatever became of it; another one may be a probe at once."""
        self._in_flight -= 1
        if began == self._probe:
            self._probe = None

    def _enough(self) -> int:
        """Failures that may be an outage: as many as calls that may yet be answered, at least."""
        return max(_FAILURES, self._in_flight - 1)

    def _close(self, now: float, *, armed: bool) -> None:
        if self.since is not None:
            self.waited += now - self.since
        self.since, self._armed, self._failures = None, armed, 0
