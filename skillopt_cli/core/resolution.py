"""Resolution: the smallest gain that a split of so many tasks can show. Pure.

The test is the exact form of McNemar's (Psychometrika 12, 1947): of the tasks on which two skills
differ, those that the better one wins are compared with as many tosses of a coin, one-sided, at the
5 % level. A gain counts as shown where the test finds it at least four times in five (power 80 %),
over all numbers of tasks on which the skills may come to differ.
"""

from __future__ import annotations

from collections.abc import Callable

from skillopt_cli.core.chances import binomial

CHANGED = 0.2
"""Share of tasks on which two skills differ, where nothing else is known."""
_LEVEL = 0.05
_POWER = 0.8
_FINE = 1e-4
_NEVER = 1e-6


def detectable_gain(n: int, changed: float = CHANGED) -> float | None:
    """The smallest gain that `n` tasks show, if the skills differ on a share of `changed`.

    Returns:
        A share of the tasks, at most `changed`; None where even a skill that loses none of those
        tasks is not told from luck.
    """
    differing = [(d, w) for d, w in enumerate(binomial(n, changed)) if w > _NEVER]
    needed = _wins(max(d for d, _ in differing))

    def power(gain: float) -> float:
        won = (1.0 + gain / changed) / 2
        return sum(w * sum(binomial(d, won, needed[d])) for d, w in differing)

    return _smallest(changed, power)


def least_gain(n: int) -> float | None:
    """The smallest gain that `n` tasks show at all: of a skill that loses no task.

    Returns:
        A share of the tasks; None where all of them won are not told from luck.
    """
    needed = next(d for d, wins in enumerate(_wins(64)) if wins <= d)
    return _smallest(1.0, lambda gain: sum(binomial(n, gain, needed)))


def _smallest(most: float, power: Callable[[float], float]) -> float | None:
    """The least gain up to `most` of enough power, which grows with the gain."""
    if power(most) < _POWER:
        return None
    low, high = 0.0, most
    while high - low > _FINE:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= _POWER else (middle, high)
    return high


def _wins(most: int) -> list[int]:
    """Wins beyond luck among 0, 1, ... `most` tasks; one more than there are where none is."""
    found: list[int] = []
    wins = 1
    for differing in range(most + 1):
        # One task more never needs fewer wins, and at most one more.
        if sum(binomial(differing, 0.5, wins)) > _LEVEL:
            wins += 1
        found.append(wins)
    return found
