"""Statistics of scores: intervals of means, corrections, statistical power. Pure.

The smallest gain that a split of `n` tasks can show rests on the exact form of McNemar's test
(Psychometrika 12, 1947): of the tasks on which two skills differ, those that the better one wins
are compared with as many tosses of a coin, one-sided, at the 5 % level. A gain counts as shown
where the test finds it at least four times in five (power 80 %), over all numbers of tasks on
which the skills may differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

LEVEL = 0.05
"""Accepted probability of an error: intervals cover 95 %, tests use 5 %."""
NORMAL = 1.959963984540054
"""How many standard deviations hold 95 % of a normal distribution."""
CHANGED = 0.2
"""Share of tasks on which two skills differ, where nothing else is known."""
SMALL = 20
"""Tasks below which a split hardly decides anything."""
CLEAR_WINS = 5
"""Wins without a loss from which on chance is unlikely: a one-sided sign test gives 1/32."""
_POWER = 0.8
_ONE_SIDED, _SHOWN = 1.6448536269514722, 0.8416212335729143
"""Normal quantiles of 1 - LEVEL and of _POWER."""
_EXACT_TASKS = 100
_FINE = 1e-4
_NEVER = 1e-6


def binomial(n: int, p: float, least: int = 0) -> list[float]:
    """The chances that `least`, `least` + 1, ... `n` of `n` tries succeed, each with chance `p`."""
    if p <= 0.0 or p >= 1.0:
        sure = n if p >= 1.0 else 0
        return [float(k == sure) for k in range(least, n + 1)]
    whole, won, lost = math.lgamma(n + 1), math.log(p), math.log1p(-p)
    return [
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * won + (n - k) * lost)
        for k in range(least, n + 1)
    ]


def interval(mean: float, n: int) -> tuple[float, float]:
    """95 % confidence interval of the mean over all tasks of this kind.

    The score interval of Wilson (J. Am. Stat. Assoc. 22, 1927). It is exact in form for marks of 0
    and 1 and too wide, never too narrow, for marks between them.

    Args:
        mean: of the marks of `n` tasks, in [0, 1]; `n` is at least 1.
    """
    square = NORMAL**2
    middle = mean + square / (2 * n)
    reach = NORMAL * math.sqrt(mean * (1 - mean) / n + square / (4 * n * n))
    whole = 1 + square / n
    # The ends at 0 and 1 are exact; rounding would leave a rest.
    low = 0.0 if mean <= 0 else max(0.0, (middle - reach) / whole)
    return low, 1.0 if mean >= 1 else min(1.0, (middle + reach) / whole)


def corrected(chances: Sequence[float]) -> list[float]:
    """P-values of several comparisons made at once, corrected by Holm (Scand. J. Stat. 6, 1979).

    One in twenty differences is below the 5 % level by chance alone. After this correction a
    level holds for all comparisons together.
    """
    found = [1.0] * len(chances)
    least = 0.0
    for place, i in enumerate(sorted(range(len(chances)), key=lambda i: chances[i])):
        least = max(least, min(1.0, (len(chances) - place) * chances[i]))
        found[i] = least
    return found


def detectable_gain(n: int, changed: float = CHANGED) -> float | None:
    """The smallest gain that `n` tasks show, if the skills differ on a share of `changed`.

    Returns:
        A share of the tasks, at most `changed`; None where even a skill that loses none of those
        tasks is not distinguishable from chance.
    """
    differing = [(d, w) for d, w in enumerate(binomial(n, changed)) if w > _NEVER]
    needed = _wins(max(d for d, _ in differing))

    def power(gain: float) -> float:
        won = (1.0 + gain / changed) / 2
        return sum(w * sum(binomial(d, won, needed[d])) for d, w in differing)

    return _smallest(changed, power)


def tasks_to_show(gain: float, changed: float) -> int:
    """About how many tasks show a gain, by the normal approximation (Connor, Biometrics 43, 1987).

    It falls short on few tasks, so small numbers are exact: the least with such a detectable gain.

    Args:
        gain: in (0, 1]; of skills that differ on a share of `changed`, which is at least `gain`.
    """
    reach = _ONE_SIDED * math.sqrt(changed) + _SHOWN * math.sqrt(changed - gain * gain)
    least = math.ceil((reach / gain) ** 2)
    if least > _EXACT_TASKS:
        return least
    return next(
        (n for n in range(least, 2 * least) if (detectable_gain(n, changed) or 2.0) <= gain),
        2 * least,
    )


def least_gain(n: int) -> float | None:
    """The smallest gain that `n` tasks show at all: of a skill that loses no task.

    Returns:
        A share of the tasks; None where winning all of them is not distinguishable from chance.
    """
    needed = next(d for d, wins in enumerate(_wins(64)) if wins <= d)
    return _smallest(1.0, lambda gain: sum(binomial(n, gain, needed)))


def resolution_words(n: int, what: str = "difference", *, graded: bool = False) -> str:
    """The smallest differences that scores over `n` tasks can show, and can be trusted in.

    Args:
        what: the kind of difference, in the singular.
        graded: whether a task scores anything from 0 to 1. Such scores move in no steps, and how
            large a gain is does not tell whether it is chance; on how many tasks it rests does.
    """
    if graded and n > CLEAR_WINS:
        return f"{what}s for which fewer than {CLEAR_WINS} tasks score higher can be chance"
    if graded:
        return f"any {what} may be chance"
    chance = (
        f"{what}s below {CLEAR_WINS / n:.2f} can be chance"
        if n > CLEAR_WINS
        else f"any {what} may be chance"
    )
    return f"scores move in steps of {1 / n:.2f}, and {chance}"


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
    """Wins needed for significance among 0, 1, ... `most` tasks; n + 1 where none is enough."""
    found: list[int] = []
    wins = 1
    for differing in range(most + 1):
        # One task more never needs fewer wins, and at most one more.
        if sum(binomial(differing, 0.5, wins)) > LEVEL:
            wins += 1
        found.append(wins)
    return found
