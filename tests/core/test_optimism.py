"""How far a maximum flatters, against worlds whose truth is known."""

from __future__ import annotations

import math
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.optimism import _sums, optimism


def text(values: list[float]) -> dict[str, float]:
    return {str(i): value for i, value in enumerate(values)}


def test_one_text_was_not_selected_and_equal_texts_flatter_no_more_than_one() -> None:
    one = text([1.0, 0.0] * 20)
    assert optimism([]) == optimism([one]) == 0.0
    assert optimism([one, one], resamples=2000) < 0.01
    assert optimism([one, {}]) == 0.0


def test_the_best_of_texts_without_a_difference_flatters_and_most_of_that_is_found() -> None:
    chance, claimed, corrected = Random(4), 0.0, 0.0
    for _ in range(60):
        texts = [text([float(chance.random() < 0.5) for _ in range(40)]) for _ in range(8)]
        best = max(sum(t.values()) / 40 for t in texts)
        claimed += (best - 0.5) / 60
        corrected += (best - optimism(texts, resamples=60) - 0.5) / 60
    assert claimed > 0.08
    assert abs(corrected) < claimed / 2


def test_a_text_that_is_far_ahead_is_hardly_corrected() -> None:
    low, high = text([0.0] * 30), text([1.0] * 30)
    assert optimism([low, high]) == 0.0


@given(
    columns=st.integers(1, 90).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n), min_size=1, max_size=5
        )
    ),
    graded=st.booleans(),
    chance=st.randoms(use_true_random=False),
)
def test_passed_and_failed_tasks_are_summed_as_any_scores(
    columns: list[list[float]], graded: bool, chance: Random
) -> None:
    if graded:
        columns[0][0] = 0.5
    places = chance.choices(range(len(columns[0])), k=len(columns[0]))
    expected = [math.fsum(column[i] for i in places) for column in columns]
    assert _sums(columns)(places) == expected
