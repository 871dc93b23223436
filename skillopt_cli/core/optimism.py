"""How far the highest of several scores overestimates its text, by the bootstrap. Pure.

The text with the highest score on a split owes some of it to the tasks of that split. The bootstrap
repeats the selection on resampled tasks, and compares the score that wins there with the score of
the same text on all tasks (Efron, J. Am. Stat. Assoc. 78, 1983, for the error of a fitted rule).
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from random import Random

GRADES = 60
"""A score of 1. Halves, thirds, quarters, fifths and sixths are exact; what others lose is lost in
the mean over tasks."""
RESAMPLES, FEWER, MANY = 400, 100, 100_000
"""Resamples, and those of more than so many scores: the maximum of many texts varies less, so that
the fewer show it to two thousandths as well."""


def graded(score: float) -> int:
    """A score in [0, 1] as a byte, in parts of `GRADES`."""
    return round(min(max(score, 0.0), 1.0) * GRADES)


def optimism(texts: Sequence[bytes], resamples: int | None = None) -> float:
    """How much the highest mean is expected to exceed that of the same text on fresh tasks.

    0 for a single text, and without tasks. The same scores give the same value.

    Args:
        texts: for each the graded scores of the same tasks, in the same order.
        resamples: as many as the number of scores asks for unless given.

    Raises:
        ValueError: the texts have scores of different numbers of tasks.
    """
    n = len(texts[0]) if texts else 0
    if len(texts) < 2 or not n:
        return 0.0
    resamples = resamples or (RESAMPLES if len(texts) * n <= MANY else FEWER)
    # The scores of all texts on a task are one number, with a lane of bits for each text, wide
    # enough for the sum over all tasks: adding two such numbers adds a thousand scores at once.
    lane = "H" if n * GRADES < 1 << 16 else "I"
    width = array(lane).itemsize
    size = len(texts) * width
    joined = b"".join(texts)
    if len(joined) != n * len(texts):
        raise ValueError("the texts have scores of different numbers of tasks")
    rows = []
    for place in range(n):
        lanes = bytearray(size)
        lanes[::width] = joined[place::n]
        rows.append(int.from_bytes(lanes, "little"))
    totals = [sum(text) for text in texts]
    chance, excess = Random(0), 0
    for _ in range(resamples):
        drawn = array(lane, sum(chance.choices(rows, k=n)).to_bytes(size, "little"))
        if sys.byteorder == "big":
            drawn.byteswap()
        highest = max(drawn)
        excess += highest - totals[drawn.index(highest)]
    return max(0.0, excess / resamples / n / GRADES)
