"""OfficeQA's score: the published comparison with its oddities, and the one that mends them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.benchmarks.kit.numbers import parse_tolerance
from skillopt_cli.benchmarks.officeqa.scoring import (
    NO_TAG,
    AnswerScorer,
    final_answer,
    normalise,
    word_f1,
)

PUBLISHED, NUMERIC = AnswerScorer(), AnswerScorer("numeric")


@pytest.mark.parametrize(
    ("answer", "reference", "published", "numeric"),
    [
        ("1,200", "1200", 1, 1),
        ("1200", "1,200", 1, 1),
        ("$1,200", "1200", 1, 1),
        ("1,200 million", "1,200", 1, 1),
        ("1200 dollars", "1,200", 1, 1),
        ("1200 Million Dollars", "1,200 million", 1, 1),
        ("1,200 nominal dollars", "1200", 1, 1),
        ("12.5", "12.5%", 0, 1),
        ("12.5%", "12.5", 0, 1),
        ("12.5 %", "12.5%", 0, 1),
        ("12.5 percent", "12.5%", 0, 1),
        ("12.5.", "12.5", 0, 1),
        ("12.50", "12.5", 0, 1),
        ("0.125", "12.5%", 0, 0),
        ("$1.5 billion", "1.5 million", 1, 0),
        ("1.5 billion", "1,500 million", 0, 1),
        ("1.5 thousand", "1.5", 0, 1),
        ("1.5 billion", "1.5", 1, 1),
        ("-38", "-38", 1, 1),
        ("-38", "38", 0, 0),
        ("\u221238", "-38", 0, 1),
        ("+38", "38", 1, 1),
        ("March 1951", "march 1951", 1, 1),
        ("March, 1951", "March 1951", 1, 1),
        ("March 1951.", "March 1951", 0, 1),
        ("April 1951", "March 1951", 0, 0),
        ("1951", "March 1951", 0, 0),
        ("[1.5, 2.5]", "1.5, 2.5", 1, 1),
        ("1.5; 2.5", "1.5, 2.5", 1, 1),
        ("2.5, 1.5", "1.5, 2.5", 0, 0),
        ("Income taxes", "income  taxes", 1, 1),
        ("(Income taxes)", "Income taxes", 1, 1),
        ("about 1,200", "1,200", 0, 0),
        ("1,200 or 1,300", "1,200", 0, 0),
        ("dollars", "million", 0, 0),
        ("million", "million", 1, 1),
        ("", "1,200", 0, 0),
        (" ", "1,200", 0, 0),
        ("1200000", "1.2 million", 0, 1),
        ("5 thousand", "5,000", 0, 1),
        ("5 thousand", "5 million", 0, 0),
        ("5,000,000", "5 thousand", 0, 0),
        ("", "", 0, 0),
        ("%", "%", 1, 1),
    ],
)
def test_what_is_right(answer: str, reference: str, published: int, numeric: int) -> None:
    reply = f"So it is.\n<answer>{answer}</answer>"
    assert PUBLISHED.score(reply, reference).hard == published
    assert NUMERIC.score(reply, reference).hard == numeric


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  The Total, of $1,234.50!  ", "the total of 1234.50"),
        ("12.5%", "12.5%"),
        ("a - b", "a - b"),
        ("Millions and BILLIONS", "and"),
        ("millionaire", "millionaire"),
        ("caf\u00e9 (x)", "caf\u00e9 x"),
        ("", ""),
    ],
)
def test_normal_form(text: str, normal: str) -> None:
    assert normalise(text) == normal


@pytest.mark.parametrize(
    ("reply", "last", "first"),
    [
        ("<answer>1</answer>", "1", "1"),
        ("<answer>1</answer> no, <answer> 2 </answer>", "2", "1"),
        ("<ANSWER>1\n2</Answer>", "1\n2", "1\n2"),
        ("I end with <answer> tags.\n<answer>3</answer>", "3", "tags."),
        ("<answer>4\nas said", "4", "4"),
        ("<answer></answer>", "", ""),
        ("<answer>", "", ""),
        ("So it is\n5\n", "5", None),
        ("</answer>", "", None),
        ("", "", None),
    ],
)
def test_which_answer_counts(reply: str, last: str | None, first: str | None) -> None:
    assert final_answer(reply) == last
    if first != "tags.":
        assert final_answer(reply, "first") == first


@pytest.mark.parametrize(
    ("reply", "last", "first"),
    [
        ("<answer>1</answer> no: <answer>2</answer>", 1, 0),
        ("<answer>2</answer> no: <answer>1</answer>", 0, 1),
        ("<answer>2</answer>", 1, 1),
        ("<answer>1</answer>", 0, 0),
        ("It is\n2", 1, 0),
        ("<answer></answer>\n2", 0, 0),
        ("", 0, 0),
    ],
)
def test_the_published_code_scores_the_first_answer(reply: str, last: int, first: int) -> None:
    assert AnswerScorer().score(reply, "2").hard == last
    assert AnswerScorer(tag="first").score(reply, "2").hard == first


def test_a_reply_without_tags_counts_by_its_last_line_or_not_at_all() -> None:
    assert PUBLISHED.score("It is\n1,200", "1,200").hard == 1.0
    score = AnswerScorer(tag="first").score("1,200", "1,200")
    assert score.hard == score.soft == 0.0
    assert score.feedback == f'expected "1,200"; {NO_TAG}'


def test_soft_is_the_overlap_of_words() -> None:
    score = PUBLISHED.score("<answer>in March 1951</answer>", "March 1951")
    assert (score.hard, score.soft) == (0.0, pytest.approx(0.8))
    assert score.feedback == 'expected "March 1951", got "in March 1951"'
    assert score.expected == ("March 1951",)
    assert word_f1("", "") == 0.0


def test_feedback_tells_a_right_number_in_a_wrong_form() -> None:
    told = PUBLISHED.score("<answer>12.5</answer>", "12.5%").feedback
    assert told == 'expected "12.5%", got "12.5"; the number is right, its form is not'
    assert "form" not in PUBLISHED.score("<answer>13</answer>", "12.5%").feedback


@pytest.mark.parametrize(
    ("tolerance", "answer", "right"),
    [
        ("0.1", "12.4", 1),
        ("0.1", "12.3", 0),
        ("1%", "12.6", 1),
        ("1%", "12.7", 0),
        ("0", "12.6", 0),
    ],
)
def test_numbers_may_be_off_by_the_tolerance(tolerance: str, answer: str, right: int) -> None:
    scorer = AnswerScorer("numeric", parse_tolerance(tolerance))
    assert scorer.score(f"<answer>{answer}</answer>", "12.5%").hard == right


TEXTS = st.text("19,.%-$()[] \n/<>abMmilon\u00e9", max_size=40)


@given(TEXTS, TEXTS)
def test_scores_hold_their_bounds_and_equal_texts_are_right(answer: str, reference: str) -> None:
    for scorer in (PUBLISHED, NUMERIC):
        score = scorer.score(f"<answer>{answer}</answer>", reference)
        assert 0.0 <= score.hard <= score.soft <= 1.0
    clean = reference.strip()
    if clean and "<" not in clean:
        for scorer in (PUBLISHED, NUMERIC):
            assert scorer.score(f"<answer>{clean}</answer>", clean).hard == 1.0
