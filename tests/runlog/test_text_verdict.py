"""The verdict in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from facts import VERDICT

from skillopt_cli.runlog.text.verdict import chance_words, verdict_document, verdict_sentence


def test_an_improvement_in_words() -> None:
    assert verdict_sentence(replace(VERDICT, p_value=0.004)) == (
        "The trained skill is better than the seed: 0.79 against 0.60 on 100 test tasks"
        " (21 fixed, 2 broken; chance alone explains this in 1 of 250 cases)."
    )
    assert verdict_document(VERDICT)["sentence"] == verdict_sentence(VERDICT)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"word": "worse"}, "is worse than the seed"),
        ({"word": "unproven", "p_value": 0.4}, "A gain of 0.12 or more would most likely have"),
        ({"word": "underpowered", "detectable": None}, "So few tasks hardly show any gain"),
        ({"word": "underpowered", "n": 60}, "Only 60 of 100 tasks have both scores."),
        ({"word": "unproven", "identical": True}, "is the seed skill, unchanged"),
        ({"word": "underpowered", "best": None, "n": 0}, "none of 100 test tasks has both"),
    ],
)
def test_each_other_verdict_is_one_of_its_own(changes: dict[str, object], words: str) -> None:
    assert words in verdict_sentence(replace(VERDICT, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("p_value", "words"),
    [
        (1.0, "more than half of all cases"),
        (0.5, "1 of 2 cases"),
        (0.031, "1 of 32 cases"),
        (0.00003, "1 of 33,000 cases"),
        (1e-12, "less than 1 of 1,000,000 cases"),
        (0.0, "less than 1 of 1,000,000 cases"),
    ],
)
def test_a_chance_in_words(p_value: float, words: str) -> None:
    assert chance_words(p_value) == words
