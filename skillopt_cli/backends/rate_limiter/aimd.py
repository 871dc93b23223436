"""A limit that is learned by additive increase and decrease to an accepted value."""

from __future__ import annotations

_STEP, _LONG_STEP = 0.03, 0.4
"""Shares by which a limit grows: above the value last refused, and at most below it."""
_REACHED = {"calls": 1.0, "rate": 0.95}
"""Share of the value last refused from which steps double."""
_AGAIN = {"calls": 0.85, "rate": 0.98}
"""Share of the value last refused from which another refusal confirms it."""
_MOST_WAIT = {"calls": 8, "rate": 4}


class AimdLimit:
    """A limit that grows step by step while the calls at it are accepted.

    Below the value last refused a step goes half the way there; from about that value on each step
    is twice as long as the one before. A value that is refused again and again is tested more
    seldom.

    Attributes:
        value: the limit.
        climbed: steps since the last decrease.
        kept: the value before the last of these steps, a stretch of whose calls was accepted; 0.0
            without such a step.

    Args:
        calls: whether it limits whole calls; else it is a rate.
        refused: the value last refused, 0.0 if none was.
    """

    def __init__(self, value: float, *, calls: bool = False, refused: float = 0.0) -> None:
        self.value = value
        self.climbed = 0
        self.kept = 0.0
        self._kind = "calls" if calls else "rate"
        self._refused = refused
        self._wait = 1
        self._beyond = 0
        self._accepted = 0

    def accepted(self, stretch: float) -> None:
        """Count an accepted call that used the limit up; after a stretch of them the limit grows.

        Args:
            stretch: calls of a round trip.
        """
        self._accepted += 1
        if self._accepted < stretch * self._wait:
            return
        calls, self.kept = self._kind == "calls", self.value
        step = max(1.0 if calls else 0.0, _STEP * self.value) * 2**self._beyond
        half = 0.0 if calls else (self._refused - self.value) / 2
        self._beyond += self.value >= _REACHED[self._kind] * self._refused
        self.value += max(step, min(half, _LONG_STEP * self.value))
        self.climbed, self._accepted, self._wait = self.climbed + 1, 0, max(1, self._wait // 2)

    def decrease(self, value: float) -> None:
        """Fall to a value, after which the limit climbs again."""
        again = self.value > _AGAIN[self._kind] * self._refused > 0
        self._wait = min(_MOST_WAIT[self._kind], 4 * self._wait) if again else 1
        self._refused, self.value, self.kept = self.value, value, 0.0
        self.climbed = self._beyond = self._accepted = 0
