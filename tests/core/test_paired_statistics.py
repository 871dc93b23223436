"""Paired tests and intervals against SciPy, and what they must never do."""

from __future__ import annotations

import math
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.paired_statistics import (
    Alternative,
    PairedDifferences,
    bca_interval,
    bootstrap_interval,
    disagree,
    paired_differences,
    paired_interval,
    sign_flip_test,
)

stats: Any = pytest.importorskip("scipy.stats")
numpy: Any = pytest.importorskip("numpy")

SIDES: tuple[Alternative, ...] = ("two-sided", "greater", "less")


def mean(values: Any) -> float:
    return math.fsum(values) / len(values)


def inputs(chance: Random, n: int) -> list[float]:
    """Differences of binary scores, of means of three repeats, or of any scores."""
    kind = chance.choice(("binary", "repeats", "graded"))
    if kind == "binary":
        return [float(chance.choice((-1, 0, 1))) for _ in range(n)]
    if kind == "repeats":
        return [chance.randint(-3, 3) / 3 for _ in range(n)]
    return [chance.uniform(-1, 1) for _ in range(n)]


@pytest.mark.parametrize("side", SIDES)
def test_a_sign_flip_test_agrees_with_scipy(side: Alternative) -> None:
    chance = Random(side)
    for _ in range(1000):
        deltas = inputs(chance, chance.randint(2, 9))
        # Thirds as whole numbers: the sums of theirs would differ by rounding where they are equal.
        whole = [round(3 * d) for d in deltas]
        same = all(abs(w / 3 - d) < 1e-12 for w, d in zip(whole, deltas, strict=True))
        theirs = stats.permutation_test(
            (whole if same else deltas,),
            lambda d, axis: numpy.sum(d, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=numpy.inf,
            alternative=side,
        )
        assert sign_flip_test(deltas, side) == pytest.approx(theirs.pvalue, abs=1e-12), deltas


@pytest.mark.parametrize("side", SIDES)
def test_many_binary_scores_agree_with_the_binomial_test_of_scipy(side: Alternative) -> None:
    chance = Random(side)
    for _ in range(1000):
        won, lost, tied = (chance.randint(0, 60) for _ in range(3))
        deltas = [1.0] * won + [-1.0] * lost + [0.0] * tied
        theirs = stats.binomtest(won, won + lost, alternative=side).pvalue if won + lost else 1.0
        assert sign_flip_test(deltas, side) == pytest.approx(theirs, rel=1e-9)


def test_the_ends_of_an_interval_are_those_of_scipy() -> None:
    chance = Random(1)
    for _ in range(1000):
        deltas = inputs(chance, chance.randint(3, 40))
        if len(set(deltas)) == 1:
            continue
        means = sorted(mean(chance.choices(deltas, k=len(deltas))) for _ in range(199))
        known = stats.bootstrap(
            (deltas,), mean, vectorized=False, n_resamples=2, method="percentile"
        )
        known.bootstrap_distribution = numpy.array(means)
        theirs = stats.bootstrap(
            (deltas,),
            mean,
            vectorized=False,
            n_resamples=0,
            method="BCa",
            bootstrap_result=known,
        ).confidence_interval
        assert bca_interval(deltas, means) == pytest.approx(tuple(theirs), abs=1e-9)


def test_signs_are_counted_exactly_where_there_are_too_many_to_look_at_each() -> None:
    deltas = [1 / 3, -2 / 3, 1.0, 1 / 3, 2 / 3, -1 / 3, 1.0, 1.0, 2 / 3, 1 / 3, -1.0, 1.0, 2 / 3]
    units = [round(3 * d) for d in deltas]
    sums = [
        sum(s * abs(u) for s, u in zip(signs, units, strict=True))
        for signs in product((1, -1), repeat=len(units))
    ]
    assert sign_flip_test(deltas, "greater") == sum(s >= sum(units) for s in sums) / len(sums)


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30), st.integers(2, 5)
)
def test_duplicated_repeats_never_change_a_p_value(pairs: list[Any], times: int) -> None:
    def differences(repeats: int) -> list[float]:
        first = {str(i): [float(a)] * repeats for i, (a, _) in enumerate(pairs)}
        second = {str(i): [float(b)] * repeats for i, (_, b) in enumerate(pairs)}
        return list(paired_differences(first, second).by_task.values())

    for side in SIDES:
        assert sign_flip_test(differences(times), side) == sign_flip_test(differences(1), side)


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), max_size=20))
def test_identical_scores_are_a_tie(scores: list[list[float]]) -> None:
    arm = {str(i): values for i, values in enumerate(scores)}
    deltas = list(paired_differences(arm, arm).by_task.values())
    assert all(sign_flip_test(deltas, side) == 1.0 for side in SIDES)
    if deltas:
        assert bootstrap_interval(deltas, resamples=20) == (0.0, 0.0)


def test_only_tasks_with_scores_of_both_are_compared() -> None:
    first = {"a": [0.0], "b": [1.0], "c": []}
    found = paired_differences(first, {"a": [1.0, 0.0], "c": [1.0], "d": [1.0]})
    assert found == PairedDifferences({"a": 0.5})


def test_a_comparison_counts_tasks_and_names_no_gain_without_any() -> None:
    found = PairedDifferences({"a": 1.0, "b": -0.5, "c": 1e-12, "d": 0.0})
    assert (found.n, found.won, found.lost, found.gain) == (4, 1, 1, pytest.approx(0.125))
    assert found.p_value() == sign_flip_test([1.0, -0.5])
    assert found.p_value("greater") == sign_flip_test([1.0, -0.5], "greater")
    assert found.interval == bootstrap_interval([1.0, -0.5, 1e-12, 0.0])
    nothing = PairedDifferences({})
    assert (nothing.n, nothing.won, nothing.gain, nothing.interval) == (0, 0, None, None)
    assert nothing.p_value() == 1.0


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_finite_number_is_refused(wrong: float) -> None:
    for refused in (
        lambda: paired_differences({"a": [wrong]}, {"a": [1.0]}),
        lambda: sign_flip_test([0.5, wrong]),
        lambda: paired_interval([wrong]),
        lambda: bootstrap_interval([wrong]),
    ):
        with pytest.raises(ValueError, match="is not a finite number"):
            refused()


def test_a_bootstrap_is_the_same_every_time_and_holds_its_mean() -> None:
    deltas = inputs(Random(3), 25)
    low, high = bootstrap_interval(deltas)
    assert (low, high) == bootstrap_interval(deltas)
    assert low < math.fsum(deltas) / len(deltas) < high


@pytest.mark.parametrize("deltas", [[], [1.0]])
def test_an_interval_of_next_to_nothing(deltas: list[float]) -> None:
    if deltas:
        assert bootstrap_interval([0.5]) == (0.5, 0.5)
    else:
        with pytest.raises(ValueError, match="at least one difference"):
            bootstrap_interval(deltas)


def test_an_interval_of_binary_scores_has_a_width_and_covers_the_truth() -> None:
    low, high = paired_interval([1.0] * 8)
    assert 0.0 < low < high <= 1.0
    chance, held = Random(5), 0
    for _ in range(1000):
        deltas = [chance.choices((1.0, -1.0, 0.0), (0.25, 0.05, 0.7))[0] for _ in range(40)]
        low, high = paired_interval(deltas)
        held += low <= 0.2 <= high
    assert held >= 930


@pytest.mark.parametrize(("won", "lost"), list(product(range(7), range(7))))
def test_a_sign_test_counts_tosses(won: int, lost: int) -> None:
    n = won + lost
    tosses = [sum(toss) for toss in product((0, 1), repeat=n)]
    extreme = [t for t in tosses if abs(2 * t - n) >= abs(won - lost)]
    deltas = [1.0] * won + [-1.0] * lost
    assert sign_flip_test(deltas) == pytest.approx(len(extreme) / len(tosses))
    assert sign_flip_test(deltas) == sign_flip_test([-d for d in deltas])


def test_a_large_graded_split_is_tested_in_reasonable_memory() -> None:
    chance = Random(2)
    deltas = [chance.uniform(-1, 1) + 0.1 for _ in range(600)]
    assert 0.0 < sign_flip_test(deltas, "greater") < 0.01


@pytest.mark.parametrize(
    ("ends", "p_value", "apart"),
    [
        ((0.01, 0.4), 0.06, True),
        ((-0.4, -0.01), 0.06, True),
        ((-0.01, 0.4), 0.04, True),
        ((0.0, 0.4), 0.05, True),
        ((0.01, 0.4), 0.05, False),
        ((-0.4, 0.01), 0.06, False),
    ],
)
def test_an_interval_disagrees_where_it_alone_would_decide_otherwise(
    ends: tuple[float, float], p_value: float, apart: bool
) -> None:
    assert disagree(ends, p_value) is apart
