"""How far the highest of several scores overestimates its text, by the bootstrap. Pure.

The text with the highest score on a split owes some of it to the tasks of that split. The bootstrap
repeats the selection on resampled tasks, and compares the score that wins there with the score of
the same text on all tasks (Efron, J. Am. Stat. Assoc. 78, 1983, for the error of a fitted rule).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random

RESAMPLES = 400


def optimism(texts: Sequence[Mapping[str, float]], resamples: int = RESAMPLES) -> float:
    """How much the highest mean is expected to exceed that of the same text on fresh tasks.

    Tasks count that all texts have a score for; 0 for a single text, and without such tasks. The
    same scores give the same value.
    """
    tasks = [task for task in texts[0] if all(task in text for text in texts)] if texts else []
    if len(texts) < 2 or not tasks:
        return 0.0
    columns = [[text[task] for task in tasks] for text in texts]
    sums = _sums(columns)
    means = [total / len(tasks) for total in sums(range(len(tasks)))]
    chance, excess = Random(0), 0.0
    for _ in range(resamples):
        drawn = sums(chance.choices(range(len(tasks)), k=len(tasks)))
        winner = max(range(len(texts)), key=lambda i: drawn[i])
        excess += drawn[winner] / len(tasks) - means[winner]
    return max(0.0, excess / resamples)


def _sums(columns: Sequence[Sequence[float]]) -> Callable[[Sequence[int]], list[float]]:
    """What sums each column over some places, of which one may occur several times."""
    if any(value not in (0.0, 1.0) for column in columns for value in column):
        return lambda places: [math.fsum(column[i] for i in places) for column in columns]
    # A thousand texts of passed and failed tasks: each is a number of as many bits. How often a
    # place was drawn is a number too, and a sum the bits that a text shares with each bit of it.
    passed = [_bits(bytes(map(int, column)), 0) for column in columns]

    def sums(places: Sequence[int]) -> list[float]:
        times = bytearray(len(columns[0]))
        for place in places:
            times[place] = min(times[place] + 1, 255)
        totals = [0] * len(passed)
        for bit in range(max(times).bit_length()):
            drawn = _bits(times, bit)
            totals = [
                total + ((bits & drawn).bit_count() << bit)
                for total, bits in zip(totals, passed, strict=True)
            ]
        return [float(total) for total in totals]

    return sums


def _bits(counts: bytes | bytearray, bit: int) -> int:
    """A number with a bit for each count: the one that the count has at this place."""
    digits = bytes(b"01"[count >> bit & 1] for count in range(256))
    return int(counts.translate(digits), 2)
