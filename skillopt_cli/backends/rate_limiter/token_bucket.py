"""A token bucket that follows the quota a service states in its headers."""

from __future__ import annotations

import math

_MEASURED = 3
"""Least that must be used of a quota for its refill to be measured by it."""
_PART = 0.5
"""What services round down from what is left, on average."""


class TokenBucket:
    """What is left of a quota; never empty while no quota is stated.

    Times are seconds on one clock.
    """

    def __init__(self) -> None:
        self._limit = self._left = math.inf
        self._refill = 0.0
        self._at = 0.0

    def state(
        self, now: float, limit: float | None, left: float | None, reset: float | None
    ) -> None:
        """Take over what a service states; what is left rises by the refill alone.

        An answer states what was left when its call arrived, so later calls are not in it yet.

        Args:
            reset: seconds until the quota is full again.
        """
        if limit is None or left is None or not reset:
            return
        self.take(now, 0.0)
        self._limit, self._left = limit, min(self._left, left)
        used = limit - left
        if used >= _MEASURED:
            self._refill = (used - _PART) / reset
        elif not self._refill:
            self._refill = max(used, 0.0) / reset
        self._at = max(self._at, now)

    def take(self, now: float, amount: float) -> None:
        """Use some of the quota."""
        if self._left < math.inf:
            refilled = self._left + max(0.0, now - self._at) * self._refill
            self._left, self._at = min(self._limit, refilled) - amount, max(now, self._at)

    def ready_at(self, amount: float) -> float:
        """When so much is left, possibly in the past."""
        if self._left >= amount or not self._refill:
            return self._at
        return self._at + (amount - self._left) / self._refill
