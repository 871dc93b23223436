"""The smallest gain a split can show, against counting every outcome."""

from __future__ import annotations

from itertools import pairwise
from math import comb

import pytest

from skillopt_cli.core.statistics import binomial, detectable_gain, least_gain


def power(n: int, changed: float, gain: float) -> float:
    """How often wins among the changed tasks are too many for a coin, in whole numbers."""
    shown = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            differing = wins + losses
            as_many = sum(comb(differing, k) for k in range(wins, differing + 1))
            if as_many * 20 <= 2**differing:
                same = n - differing
                ways = comb(n, differing) * comb(differing, wins)
                won, lost = (changed + gain) / 2, (changed - gain) / 2
                shown += ways * won**wins * lost**losses * (1 - changed) ** same
    return shown


@pytest.mark.parametrize(("n", "changed"), [(40, 0.2), (60, 0.2), (30, 0.5), (12, 0.9)])
def test_the_gain_is_the_first_that_is_seen_four_times_in_five(n: int, changed: float) -> None:
    gain = detectable_gain(n, changed)
    assert gain is not None
    assert power(n, changed, min(gain, changed)) >= 0.8
    assert power(n, changed, gain - 0.002) < 0.8


@pytest.mark.parametrize("n", [1, 8, 20, 32])
def test_a_small_split_shows_no_gain_of_a_fifth(n: int) -> None:
    assert detectable_gain(n) is None
    assert power(n, 0.2, 0.2) < 0.8


@pytest.mark.parametrize("changed", [0.05, 0.2, 0.6, 1.0])
def test_a_gain_is_never_more_than_the_share_that_differs(changed: float) -> None:
    gains = [detectable_gain(n, changed) for n in (1, 5, 9, 14, 33, 90, 250)]
    found = [gain for gain in gains if gain is not None]
    assert found and all(gain <= changed for gain in found)
    assert all(later < gain for gain, later in pairwise(found))


def test_without_a_loss_five_wins_are_enough_and_four_are_not() -> None:
    assert [least_gain(n) for n in (1, 4)] == [None, None]
    assert least_gain(5) == pytest.approx(0.8**0.2, abs=1e-3)
    assert power(8, 0.7, 0.7) > 0.8 > power(8, 0.69, 0.69)
    assert least_gain(8) == pytest.approx(0.697, abs=1e-3)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_chances_sum_to_one_and_a_tail_is_their_end(p: float) -> None:
    whole = binomial(9, p)
    assert sum(whole) == pytest.approx(1)
    assert sum(k * chance for k, chance in enumerate(whole)) == pytest.approx(9 * p)
    assert binomial(9, p, 4) == whole[4:]
    assert binomial(3, p, 4) == []
