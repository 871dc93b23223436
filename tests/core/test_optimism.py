"""How far a maximum flatters, against worlds whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core import optimism as module
from skillopt_cli.core.optimism import GRADES, RESAMPLES, graded, optimism


def text(values: Sequence[float]) -> bytes:
    return bytes(map(graded, values))


def test_one_text_was_not_selected_and_equal_texts_flatter_no_more_than_one() -> None:
    one = text([1.0, 0.0] * 20)
    assert optimism([]) == optimism([one]) == 0.0
    assert optimism([one, one], resamples=2000) < 0.01
    assert optimism([b"", b""]) == 0.0


def test_the_best_of_texts_without_a_difference_flatters_and_most_of_that_is_found() -> None:
    chance, claimed, corrected = Random(4), 0.0, 0.0
    for _ in range(60):
        scores = [[float(chance.random() < 0.5) for _ in range(40)] for _ in range(8)]
        best = max(sum(each) / 40 for each in scores)
        claimed += (best - 0.5) / 60
        corrected += (best - optimism(list(map(text, scores)), resamples=60) - 0.5) / 60
    assert claimed > 0.08
    assert abs(corrected) < claimed / 2


def test_a_text_that_is_far_ahead_is_hardly_corrected() -> None:
    low, high = text([0.0] * 30), text([1.0] * 30)
    assert optimism([low, high]) == 0.0


def slowly(texts: Sequence[Sequence[float]], resamples: int) -> float:
    """The same, by its definition."""
    n, chance, excess = len(texts[0]), Random(0), 0.0
    for _ in range(resamples):
        places = chance.choices(range(n), k=n)
        drawn = [math.fsum(each[i] for i in places) / n for each in texts]
        winner = max(range(len(texts)), key=drawn.__getitem__)
        excess += drawn[winner] - math.fsum(texts[winner]) / n
    return max(0.0, excess / resamples)


@given(
    texts=st.integers(1, 60).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=n, max_size=n),
            min_size=2,
            max_size=6,
        )
    ),
)
def test_adding_all_texts_at_once_adds_each(texts: list[list[float]]) -> None:
    assert optimism(list(map(text, texts)), 20) == pytest.approx(slowly(texts, 20), abs=1e-12)


def test_sums_of_many_tasks_have_room() -> None:
    n = (1 << 16) // GRADES + 1
    texts = [[1.0] * n, [1.0] * (n - 1) + [0.0], [0.0] * n]
    assert optimism(list(map(text, texts)), 10) == pytest.approx(slowly(texts, 10), abs=1e-12)


def test_fewer_resamples_of_many_scores_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(2)
    texts = [text([float(chance.random() < 0.4) for _ in range(200)]) for _ in range(100)]
    many = optimism(texts, RESAMPLES)
    monkeypatch.setattr(module, "MANY", 100 * 200 - 1)
    few = optimism(texts)
    assert few != many
    assert few == pytest.approx(many, abs=0.006)
