"""Scores of choices, and of answers that are right or wrong."""

from __future__ import annotations

import pytest

from skillopt_cli.benchmarks.kit.answers import binary_score
from skillopt_cli.benchmarks.kit.choices import choice_score
from skillopt_cli.core.score import Score

COLOURS = ("red", "green", "blue")


@pytest.mark.parametrize(
    ("answer", "feedback"),
    [
        ("B", ""),
        ("green", ""),
        ("A", 'expected "B. green", got "A"'),
        ("pink", 'expected "B. green", got "pink", which names none of the options'),
        ("", 'expected "B. green", got an empty answer'),
    ],
)
def test_a_choice_is_right_or_wrong_with_a_reason(answer: str, feedback: str) -> None:
    score = choice_score(answer, COLOURS, {1})
    right = float(not feedback)
    assert score == Score(right, right, feedback, ("B. green",))


def test_any_of_several_right_options_scores_1() -> None:
    assert [choice_score(letter, COLOURS, {2, 0}).hard for letter in "ABC"] == [1.0, 0.0, 1.0]
    assert choice_score("B", COLOURS, {2, 0}).expected == ("A. red", "C. blue")


def test_feedback_is_for_wrong_answers_only() -> None:
    assert binary_score(True, ["x"], "x", "never shown") == Score(1.0, 1.0, "", ("x",))
    assert binary_score(False, ["x", "y"], "z", "; why").feedback == (
        'expected "x" or "y", got "z"; why'
    )
