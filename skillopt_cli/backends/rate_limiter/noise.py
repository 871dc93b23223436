"""Separates refusals that depend on the load from those that come at any load, which are noise."""

from __future__ import annotations

_WINDOW = 50
"""Calls over which the share of refusals is averaged."""
_MEMORY = 200
"""The same for the share of noise, once it is known."""
_ALLOWANCE = 0.2
"""Weight of a refusal that an accepted call takes away: five in a row undo one."""
_CLUSTER = 3.0
"""Weight of refusals that suggests a limit while no noise is known."""
_ALARM, _ALARM_SLOPE = 5.0, 20.0
"""The same above known noise, and its growth with the share of noise."""
_ISOLATED = 3
"""Refusals without a cluster that are enough for a judgement."""
_MOST = 0.5
"""Share of refusals above which they are not noise, whatever they depend on."""
_LEAST = 0.002
_ALIKE = 2.5
"""Ratio of two shares that may be due to chance."""
_VAIN, _VAIN_DOUBTED = 3, 5
"""Decreases in a row without an effect that prove noise; the same after a wrong proof."""
_TEST = 100
"""Calls without a limit that confirm a proof of noise."""


class RefusalNoise:
    """Statistics of refusals, each step after one call.

    Attributes:
        share: of refused calls, among the last 50 or so.
        level: share of refusals known to be noise; 0.0 while none is.
    """

    def __init__(self) -> None:
        self.share = 0.0
        self.level = 0.0
        self._most_level = 0.0
        self._weight = 0.0
        self._isolated = 0
        self._tested = 0
        self._vain = 0
        self._most_vain = _VAIN
        self._share_before = 0.0

    def count(self, *, refused: bool) -> None:
        """Count a call that ended."""
        self.share += (refused - self.share) / _WINDOW
        allowance = max(0.03, 3 * self.level) if self.level else _ALLOWANCE
        self._weight = max(0.0, self._weight + (1.0 if refused else -allowance))
        if self.level:
            self._tested += 1
            level = self.level + (refused - self.level) / _MEMORY
            self.level = min(self._most_level, level) if level > _LEAST else 0.0

    @property
    def expected(self) -> bool:
        """Whether recent refusals are no more than the known noise."""
        return self.level > 0 and self._weight < _ALARM + _ALARM_SLOPE * self.level

    def suggests_limit(self) -> bool:
        """Whether a refusal that was just counted suggests a limit, where none was learned yet.

        A cluster does. Isolated ones are noise, without the test of a lower limit.
        """
        if self._weight >= _CLUSTER:
            return True
        self._isolated += self._weight <= 1
        if self._isolated >= _ISOLATED:
            self._declare()
        return False

    def retracted(self) -> bool:
        """Take back a proof of noise if the share rose as soon as the limit was lifted."""
        wrong = self.level > 0 and self._tested < _TEST
        if wrong:
            self.level, self._most_vain = 0.0, _VAIN_DOUBTED
        return wrong

    def proven_by_decrease(self) -> bool:
        """Count another decrease; True where refusals go on at the same share after several."""
        self._isolated = 0
        if not self._vain:
            self._share_before = max(self.share, 2 / _WINDOW)
        self._vain += 1
        if self._vain <= self._most_vain or self.share > _MOST:
            return False
        if self.share > _ALIKE * self._share_before:
            self._vain, self._share_before = 1, self.share
            return False
        self._declare()
        self._weight = 0.0
        return True

    @property
    def vain(self) -> int:
        """Decreases in a row that did not end the refusals yet."""
        return self._vain

    @property
    def doubted(self) -> bool:
        """Whether a proof of noise was ever wrong."""
        return self._most_vain > _VAIN

    def decreased(self) -> None:
        """Reset the weight of refusals after a decrease."""
        self._weight = 0.0

    def effective(self) -> None:
        """Note that the last decrease ended the refusals for a while."""
        self._vain = 0

    def _declare(self) -> None:
        self.level = self._most_level = max(self.share, 0.01)
        self._isolated = self._tested = self._vain = 0
