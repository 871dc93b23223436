"""Options as published data write them, the right one among them, and answers in their forms."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt_cli.benchmarks.kit.answers import last_box
from skillopt_cli.benchmarks.kit.choice_records import (
    Choices,
    label_of,
    read_choices,
    split_question,
)
from skillopt_cli.benchmarks.kit.choices import choices_fault, chosen

INTERVALS = ("(0,1)", "[0,1]", "(0,1]", "$\\gamma$", "$\\Gamma$")


@pytest.mark.parametrize(
    ("value", "labels", "texts"),
    [
        (["red", "blue"], "AB", ("red", "blue")),
        ([3, 4.5], "AB", ("3", "4.5")),
        (["A. red", "B. blue"], "AB", ("red", "blue")),
        (["(A) red", "(B) blue"], "AB", ("red", "blue")),
        (["A. red", "C. blue"], "AB", ("A. red", "C. blue")),
        (
            [{"label": "a)", "text": "red"}, {"label": "B.", "content": "blue"}],
            "AB",
            ("red", "blue"),
        ),
        ([{"text": "red"}, {"text": "blue"}], "AB", ("red", "blue")),
        ({"B": "blue", "A": "red"}, "AB", ("red", "blue")),
        ([f"t{i}" for i in range(9)], "ABCDEFGHI", tuple(f"t{i}" for i in range(9))),
        ([], "", ()),
        (None, "", ()),
    ],
)
def test_options_in_every_form(value: Any, labels: str, texts: tuple[str, ...]) -> None:
    assert read_choices(value) == Choices(tuple(labels), texts)


@pytest.mark.parametrize(
    "value",
    [
        "A. red",
        7,
        ["red", None],
        ["red", " "],
        [{"label": "A"}, {"label": "B", "text": "x"}],
        [{"text": "x"}, "y"],
        [{"label": "A", "text": "x"}, {"label": "a", "text": "y"}],
        [True, False],
    ],
)
def test_what_is_no_list_of_options(value: Any) -> None:
    assert read_choices(value) is None


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("B", 1),
        ("b)", 1),
        ("(B)", 1),
        ("blue", 1),
        ("Blue.", 1),
        ("B. blue", 1),
        ({"label": "B"}, 1),
        ({"text": "blue"}, 1),
        ({"label": "B", "text": "whatever"}, 1),
        ({"label": "Z", "text": "blue"}, 1),
        ("Z", None),
        ("", None),
        (1, None),
        (None, None),
        ({"label": 1}, None),
    ],
)
def test_the_right_option(value: Any, place: int | None) -> None:
    assert Choices(("A", "B"), ("red", "blue")).place(value) == place


def test_labels_are_compared_without_their_marks() -> None:
    assert {label_of(text) for text in ("b", "B.", "(b)", " B): ")} == {"B"}


@pytest.mark.parametrize(
    ("question", "asked", "texts"),
    [
        ("How far?\nChoices:\nA:2\nB:3", "How far?", ("2", "3")),
        ("How far?\nchoices: \n(A) 2\n(B) 3 m\n", "How far?", ("2", "3 m")),
        ("How far?\nChoices:\nA:two\nor so\nB:3", "How far?", ("two\nor so", "3")),
        ("Choices: A or B?\nChoices:\nA:2\nB:3", "Choices: A or B?", ("2", "3")),
        ("How far?", "How far?", ()),
        ("Choices:\nnone here", "Choices:\nnone here", ()),
        ("", "", ()),
    ],
)
def test_the_block_of_options(question: str, asked: str, texts: tuple[str, ...]) -> None:
    found, choices = split_question(question)
    assert (found, choices.texts) == (asked, texts)


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        ("(0,1)", 0),
        ("[0,1]", 1),
        ("(0,1]", 2),
        ("$\\Gamma$", 4),
        ("$\\gamma$", 3),
        ("\\boxed{B}", 1),
        ("\\text{(B)}", 1),
        ("$\\boxed{\\text{B}}$", 1),
        ("\\(C\\)", 2),
        ("Option B: [0,1]", 1),
        ("Option B: (0,1)", None),
        ("B is correct", 1),
        ("Option C is the right one", 2),
        ("A is wrong", None),
        ("A is not correct", None),
        ("A or B", None),
        ("\\text{A or B}", None),
    ],
)
def test_an_option_with_mathematics(answer: str, option: int | None) -> None:
    assert chosen(answer, INTERVALS) == option


def test_brackets_and_capitals_tell_mathematics_apart() -> None:
    assert choices_fault(INTERVALS) == ""
    assert "are the same" in choices_fault(("$x$", "$x$"))
    assert "are the same" in choices_fault(("Yes", "(yes)"))


@pytest.mark.parametrize(
    ("reply", "box"),
    [
        ("\\boxed{3}", "3"),
        ("\\boxed{1} then \\boxed{2}", "2"),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed {a{b{c}}d} }", "a{b{c}}d"),
        ("\\boxed{\\boxed{3}}", "\\boxed{3}"),
        ("\\boxed{ \\{1,2\\} }", "\\{1,2\\}"),
        ("\\boxed{}", ""),
        ("\\boxed{1} and \\boxed{2", "1"),
        ("\\boxed{unclosed \\boxed{3}", "3"),
        ("\\boxed", None),
        ("boxed{3}", None),
        ("", None),
        ("} \\boxed{4}", "4"),
    ],
)
def test_the_last_box(reply: str, box: str | None) -> None:
    assert last_box(reply) == box


def test_a_long_reply_of_boxes_is_read_in_no_time() -> None:
    assert last_box("\\boxed{" * 20_000) is None
    assert last_box("\\boxed{" * 20_000 + "}" * 20_000) is not None
