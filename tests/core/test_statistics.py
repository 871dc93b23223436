"""Intervals and tests against numbers worked out by hand or in closed form."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.paired_statistics import sign_flip_test
from skillopt_cli.core.statistics import LEVEL, corrected, interval


def test_an_interval_is_the_one_of_the_paper() -> None:
    # Roots of (p - 0.6)^2 = 3.8415 p (1 - p) / 10.
    low, high = interval(0.6, 10)
    for p in (low, high):
        assert (p - 0.6) ** 2 == pytest.approx(1.959963984540054**2 * p * (1 - p) / 10)
    assert low < 0.6 < high


@given(st.integers(1, 500), st.floats(0, 1))
def test_an_interval_holds_its_mean_and_stays_a_score(n: int, mean: float) -> None:
    low, high = interval(mean, n)
    assert 0.0 <= low <= mean + 1e-12 and mean - 1e-12 <= high <= 1.0


def test_one_comparison_needs_no_correction() -> None:
    assert corrected([0.03]) == [0.03]
    assert corrected([]) == []


def test_several_comparisons_are_held_to_one_level_together() -> None:
    # The smallest is multiplied by three, the next by two, and none falls below one before it.
    assert corrected([0.02, 0.01, 0.03]) == pytest.approx([0.04, 0.03, 0.04])
    assert corrected([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_a_correction_never_makes_luck_less_likely(chances: list[float]) -> None:
    found = corrected(chances)
    assert all(c <= f <= 1.0 for c, f in zip(chances, found, strict=True))
    order = sorted(range(len(chances)), key=lambda i: chances[i])
    assert [found[i] for i in order] == sorted(found)


def test_sweeps_in_which_nothing_differs_seldom_name_a_difference() -> None:
    chance, sweeps, named = Random(1), 1000, 0
    for _ in range(sweeps):
        marks = [[chance.random() < 0.5 for _ in range(30)] for _ in range(6)]
        pairs = [list(zip(marks[0], other, strict=True)) for other in marks[1:]]
        raw = [sign_flip_test([float(b) - float(a) for a, b in p]) for p in pairs]
        named += min(corrected(raw)) < LEVEL
    assert named <= LEVEL * sweeps


@pytest.mark.parametrize("n", range(1, 60))
def test_an_interval_that_reaches_an_end_of_the_scale_ends_there(n: int) -> None:
    assert interval(0.0, n)[0] == 0.0
    assert interval(1.0, n)[1] == 1.0
    assert 0.0 < interval(0.0, n)[1] < 1.0
    assert 0.0 < interval(1.0, n)[0] < 1.0
