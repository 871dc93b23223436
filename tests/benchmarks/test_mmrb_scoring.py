"""Where MMRB finds an answer in a reply, and when it is right."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt_cli.benchmarks.mmrb.scoring import Matching, answered, plain, score_answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<answer>B</answer>", "B"),
        ("<answer> B </answer> Answer[C] \\boxed{D}", "B"),
        ("<answer>A</answer> or <answer>B</answer>", "B"),
        ("Answer[B]", "B"),
        ("answer [ B ]", "B"),
        ("Answer[A] ... no: Answer[two lamps]", "two lamps"),
        ("\\boxed{A} Answer[B]", "B"),
        ("So it is \\boxed{B}.", "B"),
        ("\\boxed{A}, no, \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("The answer is A. Then \\boxed{B}", "B"),
        ("B", "B"),
        ("The final answer is: B", "B"),
        ("The answer is A.\nNo, the answer is B.", "B."),
        ("Final answer is 42 candles\nas one can see", "42 candles"),
        ("Answer: B", "B"),
        ("the correct answer is (B)", "(B)"),
        ("ANSWER IS b", "b"),
        ("a lamp", "a lamp"),
        ("two\nlines", "two\nlines"),
        ("<answer>open", "<answer>open"),
        ("<answer></answer> Answer[B]", ""),
        ("", ""),
        (" \n", ""),
    ],
)
def test_where_the_answer_is_found(reply: str, answer: str) -> None:
    assert answered(reply) == answer


CHOICES = ["a lamp", "a kettle", "the 3.5 kg clock", "picture 2, picture 1"]
CHOICE = {"choices": CHOICES, "right": 1, "answer": "B", "lettered": True}
LETTER = {"choices": [], "right": None, "answer": "B", "lettered": True}


@pytest.mark.parametrize(
    ("answer", "hard"),
    [
        ("B", 1.0),
        ("b", 1.0),
        ("(B)", 1.0),
        ("**B**", 1.0),
        ("B.", 1.0),
        ("B. a kettle", 1.0),
        ("a kettle", 1.0),
        ("A kettle.", 1.0),
        ("the answer is B", 1.0),
        ("\\text{B}", 1.0),
        ("A", 0.0),
        ("B. a lamp", 0.0),
        ("A or B", 0.0),
        ("B, C", 0.0),
        ("kettle", 0.0),
        ("a kettle and a lamp", 0.0),
        ("E", 0.0),
        ("", 0.0),
    ],
)
def test_options_are_named_by_letter_or_text(answer: str, hard: float) -> None:
    for matching in ("same", "published"):
        score = score_answer(CHOICE, answer, matching)
        assert (score.hard, score.soft) == (hard, hard)
        assert (score.feedback == "") == bool(hard)
        assert score.expected == ("B. a kettle",)


@pytest.mark.parametrize(
    ("answer", "hard"),
    [("B", 1.0), ("(b)", 1.0), ("B: what it shows", 1.0), ("C", 0.0), ("a kettle", 0.0), ("", 0.0)],
)
def test_a_letter_alone_may_be_the_reference(answer: str, hard: float) -> None:
    assert score_answer(LETTER, answer, "same").hard == hard


def test_a_miss_says_what_was_wanted() -> None:
    assert score_answer(CHOICE, "C", "same").feedback == 'expected "B. a kettle", got "C"'
    assert score_answer(CHOICE, "kettle", "same").feedback.endswith(
        'got "kettle", which names none of the options'
    )
    assert score_answer(CHOICE, "", "same").feedback.endswith("got an empty answer")


@pytest.mark.parametrize(
    ("reference", "answer", "same", "published"),
    [
        ("12", "12", 1, 1),
        ("12", "1", 0, 1),  # contained
        ("1", "12", 0, 1),
        ("north", "no", 0, 1),
        ("no", "north-west", 0, 1),
        ("8.02", "8.02", 1, 1),
        ("C++", "C", 0, 1),
        ("<5", ">5", 0, 1),
        ("a+b", "a-b", 0, 1),
        ("-x", "x", 0, 1),
        ("8.02", "802", 0, 1),  # without punctuation these are the same
        ("-5", "5", 0, 1),
        ("-5", "-5.", 1, 1),
        ("5", "-5", 0, 1),
        ("1200", "1,200", 1, 1),
        ("1,200", "1200", 1, 1),
        ("1,20", "120", 0, 1),
        ("Red Lamp", "red  lamp.", 1, 1),
        ("red lamp", "the red lamp", 0, 1),
        ("a well-known man", "A well known man!", 0, 0),
        ("well-known", "wellknown", 1, 1),
        ("12.5%", "12.5", 1, 1),
        ("3:45", "3:45 ", 1, 1),
        ("3:45", "345", 0, 1),
        ("$7", "7", 1, 1),
        ("12", "", 0, 0),  # nothing is contained in everything
        ("12", " ", 0, 0),
        ("12", "...", 0, 0),
        ("blue", "red", 0, 0),
        ("+", "-", 0, 0),
        ("Straße", "STRASSE", 1, 0),
    ],
)
def test_open_answers_are_the_same_text_or_as_published(
    reference: str, answer: str, same: float, published: float
) -> None:
    data: dict[str, Any] = {"choices": [], "right": None, "answer": reference, "lettered": False}
    wanted: list[tuple[Matching, float]] = [("same", same), ("published", published)]
    for matching, hard in wanted:
        score = score_answer(data, answer, matching)
        assert (score.hard, score.soft, bool(score.feedback)) == (hard, hard, not hard)
    assert score_answer(data, reference, "same").hard == 1.0


def test_what_is_compared() -> None:
    assert plain(" The  (red) Lamp, No. 3! ") == "the red lamp no 3"
    assert plain("?!") == "?!"
    assert plain("1,234,567.50") == "1234567.50"
