"""Breadth: how many calls to a model may be in flight. Pure.

Some services refuse whatever comes while they are busy with so many calls, however slowly they
come. That shows when a call is refused as soon as more are in flight than were ever answered
together. The breadth then stays just below, and is widened again after a while, as that may change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_AT_FIRST = 16
"""Most calls in flight before the first is answered: a burst is what services refuse first."""
_MOST_STAY = 80
_NEARLY = 0.9
"""Share of the width from which on it counts as filled: answers on their way blur the count."""
_TELLING = 4
"""Widths below this say little: a service that wants calls evenly spaced looks the same."""


@dataclass(frozen=True, slots=True)
class Breadth:
    """What is known of how many calls a model takes at a time.

    Attributes:
        ceiling: most calls in flight, ever; at least 1.
        width: most calls in flight now, from 1 to `ceiling`.
        cramped: whether too many at once were ever refused.
        proven: most calls that were in flight, itself included, when one that was answered began.
        filled: answers of calls that filled the width, since it last changed.
        stay: how many of them it takes to widen.
        step: by how much.
        calm: answers since the last refusal.
    """

    ceiling: int
    width: int
    cramped: bool = False
    proven: int = 0
    filled: int = 0
    stay: int = 1
    step: int = _AT_FIRST
    calm: int = 0

    @classmethod
    def open(cls, ceiling: int) -> Breadth:
        """As many as services usually take at once, soon doubled."""
        return cls(ceiling, min(ceiling, _AT_FIRST))

    def under(self, ceiling: int) -> Breadth:
        """The same with another ceiling; what was never refused is soon tried up to it."""
        width = self.width if self.cramped else max(self.width, _AT_FIRST)
        return replace(self, ceiling=ceiling, width=min(ceiling, width))

    def answered(self, in_flight: int, grow: bool) -> Breadth:
        """A call was answered that began when so many were in flight, itself included.

        Args:
            grow: whether the width may be widened now.
        """
        told = replace(self, proven=max(self.proven, in_flight), calm=self.calm + 1)
        if not grow or in_flight < self.width or self.width == self.ceiling:
            return told
        if self.filled + 1 < self.stay:
            return replace(told, filled=self.filled + 1)
        width = min(self.ceiling, self.width + self.step)
        return replace(told, width=width, filled=0, step=2 * self.step, stay=max(1, self.stay // 2))

    def burst(self, left: int) -> Breadth:
        """One of the first burst too many was refused; `left` are still in flight."""
        width = max(1, min(self.width, left))
        return replace(
            self,
            width=width,
            cramped=True,
            proven=min(self.proven, width),
            filled=0,
            stay=width,
            step=1,
        )

    def refused(self, in_flight: int) -> tuple[Breadth, bool]:
        """What a refusal tells when so many were in flight, and whether that alone explains it."""
        calm = replace(self, filled=0, calm=0)
        if not self.cramped or not self.proven or in_flight < _NEARLY * self.width:
            return calm, False
        unproven = in_flight > self.proven
        if not unproven and (self.calm < self.width or self.stay >= _MOST_STAY):
            return calm, False
        width = max(1, in_flight - 1)
        stay = min(_MOST_STAY, max(4 * self.stay, 2 * self.width))
        narrow = replace(calm, width=width, proven=width, stay=stay, step=1)
        return narrow, unproven and width >= _TELLING
