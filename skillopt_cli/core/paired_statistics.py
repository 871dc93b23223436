"""Paired comparison of two skills on the same tasks: differences, exact test, interval. Pure.

The verdict of a run, the arms of an evaluation and the combinations of a sweep all rest on it. What
is compared are tasks: the scores that a skill has for one task, from repeats or from several seeds,
are averaged first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from statistics import NormalDist
from typing import Literal

from skillopt_cli.core.statistics import LEVEL, NORMAL

_ALIKE = 1e-9
"""Scores closer than this are the same."""
_ENUMERATED = 12
"""Differences up to which every pattern of signs is looked at one by one."""
_BITS = 2e7
"""Memory limit of an exact test, which a coarser grid of scores keeps."""
RESAMPLES = 2000

Alternative = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True, slots=True)
class PairedDifferences:
    """What a second skill gained on a first, by task that both have a score for."""

    by_task: Mapping[str, float]

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.by_task)

    @property
    def gain(self) -> float | None:
        """The mean difference; None without a task."""
        return math.fsum(self.by_task.values()) / self.n if self.n else None

    @property
    def won(self) -> int:
        """Tasks on which the second skill is better."""
        return sum(difference > _ALIKE for difference in self.by_task.values())

    @property
    def lost(self) -> int:
        """Tasks on which it is worse."""
        return sum(difference < -_ALIKE for difference in self.by_task.values())

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % confidence interval of the gain; None without a task."""
        return paired_interval(list(self.by_task.values())) if self.n else None

    def p_value(self, alternative: Alternative = "two-sided") -> float:
        """How often chance alone explains so large a gain; `sign_flip_test` of the differences."""
        return sign_flip_test(list(self.by_task.values()), alternative)


def paired_differences(
    first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]
) -> PairedDifferences:
    """What the second skill gained on the first, by task that both have a score for.

    The scores of a task's repeats are averaged first: repeats of one task are no further tasks,
    so repeating what is known already changes nothing.

    Args:
        first, second: the scores of each skill, by task.

    Raises:
        ValueError: a score is not a finite number.
    """
    return PairedDifferences({
        task: _mean(second[task]) - _mean(scores)
        for task, scores in first.items()
        if scores and second.get(task)
    })


def sign_flip_test(differences: Sequence[float], alternative: Alternative = "two-sided") -> float:
    """P-value of a paired permutation test: how often random signs give as large a sum.

    Exact over all patterns of signs, with binary scores (where it is the sign test), means of
    repeats, and any scores that are multiples of a common step. Others are exact up to 12
    differences, and are rounded to a thousandth (coarser above 140 tasks) beyond that, which leaves
    the test's level as it is. Differences of nothing but zeros are a tie: 1.

    Args:
        alternative: `greater` tests for a gain, `less` for a loss.

    Raises:
        ValueError: a difference is not a finite number.
    """
    deltas = [d for d in _finite(differences) if abs(d) > _ALIKE]
    units = _whole_units(deltas)
    total = sum(map(abs, units))
    won = sum(unit for unit in units if unit > 0)
    observed = {"greater": won, "less": total - won}.get(alternative, max(won, total - won))
    share = Fraction(_as_large([abs(u) for u in units if u], observed), 1 << sum(map(bool, units)))
    return float(min(Fraction(1), 2 * share if alternative == "two-sided" else share))


def _whole_units(deltas: Sequence[float]) -> list[int]:
    """The differences as multiples of a common step, rounded where they have none."""
    exact = [Fraction(d).limit_denominator(1000) for d in deltas]
    step = math.lcm(*(f.denominator for f in exact))
    if step > 10_000 or any(abs(f - d) > _ALIKE for f, d in zip(exact, deltas, strict=True)):
        step = round(1 / _ALIKE)
        if len(deltas) > _ENUMERATED:
            step = max(20, min(1000, int(_BITS / len(deltas) ** 2)))
    units = [round(d * step) for d in deltas]
    shared = math.gcd(*units) or 1
    return [unit // shared for unit in units]


def _as_large(weights: Sequence[int], least: int) -> int:
    """The number of subsets of the positive `weights` whose sum is `least` or more."""
    if len(weights) <= _ENUMERATED:
        sums = [0]
        for weight in weights:
            sums += [weight + known for known in sums]
        return sum(value >= least for value in sums)
    # The product of (1 + x^weight) counts the subsets of each sum. It is held in one integer, whose
    # digits to the base 2^bits are the counts; the remainder modulo base - 1 adds digits up.
    bits = len(weights) + 1
    counts = 1
    for weight in weights:
        counts += counts << (weight * bits)
    return (counts >> (least * bits)) % ((1 << bits) - 1)


def paired_interval(differences: Sequence[float]) -> tuple[float, float]:
    """95 % confidence interval of the mean difference over all tasks of this kind.

    Of Bonett and Price (J. Educ. Behav. Stat. 37, 2012) where every difference is -1, 0 or 1; it
    has a width even where all tasks agree. Else of the bootstrap.

    Raises:
        ValueError: there is no difference, or one is not a finite number.
    """
    if any(d not in (-1.0, 0.0, 1.0) for d in _finite(differences)):
        return bootstrap_interval(differences)
    n = len(differences) + 2
    won, lost = (differences.count(d) + 1 for d in (1.0, -1.0))
    middle = (won - lost) / n
    reach = NORMAL * math.sqrt((won + lost) / n**2 - middle**2 / n)
    return max(-1.0, middle - reach), min(1.0, middle + reach)


def disagree(ends: Sequence[float], p_value: float) -> bool:
    """Whether the interval of a gain and its exact test differ on whether chance explains the gain.

    The interval is approximate and two-sided. On few tasks it may leave out 0 where the test does
    not reject; beside a one-sided or a corrected test, either may happen on any number of tasks.

    Args:
        ends: of the interval.
        p_value: of the test, which decides, at the 5 % level.
    """
    low, high = ends
    return (low > 0 or high < 0) != (p_value <= LEVEL)


def bootstrap_interval(
    differences: Sequence[float], resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """95 % confidence interval of the mean difference by the paired bootstrap.

    Bias-corrected and accelerated (Efron, J. Am. Stat. Assoc. 82, 1987): percentiles are too narrow
    for the few dozen skewed differences of a split. The same differences and seed give the same
    interval.

    Raises:
        ValueError: there is no difference, or one is not a finite number.
    """
    values = _finite(differences)
    if not values:
        raise ValueError("an interval needs at least one difference")
    n, chance = len(values), Random(seed)
    means = sorted(math.fsum(chance.choices(values, k=n)) / n for _ in range(resamples))
    return bca_interval(values, means)


def bca_interval(values: Sequence[float], means: Sequence[float]) -> tuple[float, float]:
    """The interval that sorted means of resampled `values` give."""
    n, normal = len(values), NormalDist()
    if len(set(values)) == 1:
        return values[0], values[0]
    mean = math.fsum(values) / n
    below = sum(m < mean for m in means) + sum(m == mean for m in means) / 2
    if not 0 < below < len(means):
        return means[0], means[-1]
    bias = normal.inv_cdf(below / len(means))
    apart = [(value - mean) / (n - 1) for value in values]
    spread = math.fsum(a**2 for a in apart)
    bend = math.fsum(a**3 for a in apart) / (6 * spread**1.5)

    def end(z: float) -> float:
        moved = bias + (bias + z) / (1 - bend * (bias + z))
        place = normal.cdf(moved) * (len(means) - 1)
        low = min(int(place), len(means) - 2)
        return means[low] + (place - low) * (means[low + 1] - means[low])

    return end(-NORMAL), end(NORMAL)


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(_finite(scores)) / len(scores)


def _finite(values: Sequence[float]) -> Sequence[float]:
    """The values.

    Raises:
        ValueError: one is not a finite number.
    """
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"the score {value} is not a finite number")
    return values
