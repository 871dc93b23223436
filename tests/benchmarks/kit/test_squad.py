import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.benchmarks.kit.squad import exact_match, f1, normalise, squad_score

WORDS = st.text(st.sampled_from("ab the,.!-é ßA\n\t"), max_size=20)
GOLDS = st.lists(WORDS, max_size=4)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("The Beatles", "beatles"),
        ("a cat, an owl and the dog.", "cat owl and dog"),
        ("Theatre in Athens", "theatre in athens"),
        ("U.S.A.", "usa"),
        ("rock-'n'-roll", "rocknroll"),
        ("  two\t words\n", "two words"),
        ("ÉMILE Zola", "émile zola"),
        ("“Emma”", "“emma”"),
        ("the", ""),
        ("?!", ""),
    ],
)
def test_normalise(text: str, bare: str) -> None:
    assert normalise(text) == bare


@pytest.mark.parametrize(
    ("prediction", "golds", "em", "score"),
    [
        ("the Eiffel Tower!", ["Eiffel tower"], True, 1.0),
        ("in 1989", ["1989"], False, 2 / 3),
        ("Alexander Fleming of Scotland", ["Fleming", "Alexander Fleming"], False, 2 / 3),
        ("Paris", ["London"], False, 0.0),
        ("tower eiffel", ["Eiffel Tower"], False, 1.0),
        ("yes yes yes", ["yes"], False, 0.5),
        ("yes", ["yes yes yes"], False, 0.5),
        ("", ["Paris"], False, 0.0),
        ("", ["Paris", "The"], True, 1.0),
        ("the", ["a"], True, 1.0),
        ("Paris", ["the"], False, 0.0),
        ("Paris", [], False, 0.0),
        ("", [], False, 0.0),
        ("naïve", ["naive"], False, 0.0),
        ("C++", ["C"], True, 1.0),
    ],
)
def test_exact_match_and_f1(prediction: str, golds: list[str], em: bool, score: float) -> None:
    assert exact_match(prediction, golds) is em
    assert f1(prediction, golds) == pytest.approx(score)


@given(WORDS, GOLDS)
def test_an_exact_match_has_full_f1_and_f1_is_a_share(prediction: str, golds: list[str]) -> None:
    score = f1(prediction, golds)
    assert 0.0 <= score <= 1.0
    if exact_match(prediction, golds):
        assert score == 1.0


@given(WORDS, WORDS)
def test_f1_of_one_gold_is_symmetric(one: str, other: str) -> None:
    assert f1(one, [other]) == f1(other, [one])


@given(WORDS, GOLDS, st.randoms())
def test_the_order_of_golds_does_not_matter(prediction: str, golds: list[str], rng) -> None:
    shuffled = list(golds)
    rng.shuffle(shuffled)
    assert f1(prediction, golds) == f1(prediction, shuffled)
    assert exact_match(prediction, golds) == exact_match(prediction, shuffled)


def test_feedback_says_what_was_wanted_and_what_came() -> None:
    score = squad_score("in 1989", ("1989", "the year 1989"))
    assert (score.hard, score.expected) == (0.0, ("1989", "the year 1989"))
    assert score.soft == pytest.approx(2 / 3)
    assert score.feedback == (
        'expected "1989" or "the year 1989", got "in 1989"; some words agree (F1 0.67)'
    )
    assert squad_score("1989", ("1989",)).feedback == ""
