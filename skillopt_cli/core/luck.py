"""How much of a score, and of a difference between scores, may be luck. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from skillopt_cli.core.chances import binomial

LEVEL = 0.05
"""Chance of an error that is put up with: intervals cover 95 %."""
_NORMAL = 1.959963984540054
"""How many standard deviations hold 95 % of a normal distribution."""


def interval(mean: float, n: int) -> tuple[float, float]:
    """Where the mean over all tasks of this kind lies, in 95 of 100 cases.

    The score interval of Wilson (J. Am. Stat. Assoc. 22, 1927). It is exact in form for marks of 0
    and 1 and too wide, never too narrow, for marks between them.

    Args:
        mean: of the marks of `n` tasks, in [0, 1]; `n` is at least 1.
    """
    square = _NORMAL**2
    middle = mean + square / (2 * n)
    reach = _NORMAL * math.sqrt(mean * (1 - mean) / n + square / (4 * n * n))
    whole = 1 + square / n
    return max(0.0, (middle - reach) / whole), min(1.0, (middle + reach) / whole)


def sign_test(won: int, lost: int) -> float:
    """How often tossing a coin for each task that differs gives a result as lopsided as this.

    Exact and two-sided; tasks on which both are alike say nothing and are left out.
    """
    differing = won + lost
    tail = math.fsum(binomial(differing, 0.5, max(won, lost)))
    return min(1.0, 2 * tail)


def corrected(chances: Sequence[float]) -> list[float]:
    """The chances of several comparisons made at once, by Holm (Scand. J. Stat. 6, 1979).

    Whoever looks at twenty differences finds one at the 5 % level that is nothing but luck. What is
    below a level after this correction is so for all of them together.
    """
    found = [1.0] * len(chances)
    least = 0.0
    for place, i in enumerate(sorted(range(len(chances)), key=lambda i: chances[i])):
        least = max(least, min(1.0, (len(chances) - place) * chances[i]))
        found[i] = least
    return found
