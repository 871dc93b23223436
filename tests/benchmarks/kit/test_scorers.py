from typing import Any

import pytest
from reading_tables import rows

from skillopt_cli.benchmarks.kit.choices import choices_fault, chosen
from skillopt_cli.benchmarks.kit.scorers import make_scorer

COLOURS = ("red", "green", "blue", "A tone")


def right(scorer: str, reply: str, *answers: str, **data: object) -> bool:
    score = make_scorer(scorer).score({"answers": answers, **data}, reply)  # type: ignore[arg-type]
    assert score.hard == 1.0 or score.feedback
    return score.hard == 1.0


@pytest.mark.parametrize(
    ("reply", "answers", "ok"),
    [
        ("Paris", ["Paris"], True),
        ("  Paris \n", ["Paris"], True),
        ("two   words", ["two words"], True),
        ("<answer>C++</answer>", ["C++"], True),
        ("C", ["C++"], False),
        ("paris", ["Paris"], False),
        ("The Paris", ["Paris"], False),
        ("B", ["A", "B"], True),
        ("cafe\u0301", ["caf\u00e9"], True),
        ("", ["Paris"], False),
    ],
)
def test_exact(reply: str, answers: list[str], ok: bool) -> None:
    assert right("exact", reply, *answers) is ok


@pytest.mark.parametrize(
    ("reply", "answers", "ok"),
    [
        ("I would say PARIS, of course.\nBye", ["Paris"], True),
        ("Parisian", ["Paris"], False),
        ("15", ["5"], False),
        ("is it C++?", ["c++"], True),
        ("Paris <answer>Rome</answer>", ["Paris"], False),
        ("", ["Paris"], False),
        ("one or two", ["three", "two"], True),
    ],
)
def test_contains(reply: str, answers: list[str], ok: bool) -> None:
    assert right("contains", reply, *answers) is ok


def shown(row: dict[str, Any]) -> str:
    return ascii(" | ".join(map(str, row.values())))


@pytest.mark.parametrize("row", rows("4_numbers"), ids=shown)
def test_numbers(row: dict[str, Any]) -> None:
    data = {"answers": (row["reference"],)}
    assert make_scorer("numeric").check(data) == ""
    assert right("numeric", f"<answer>{row['answer']}</answer>", *data["answers"]) == row["score"]


@pytest.mark.parametrize("row", rows("5_texts"), ids=shown)
def test_texts(row: dict[str, Any]) -> None:
    assert make_scorer(row["scorer"]).check({"answers": (row["reference"],)}) == ""
    assert right(row["scorer"], row["answer"], row["reference"]) == row["score"]


@pytest.mark.parametrize(
    ("reference", "answer", "named"),
    [
        ("Paris", "P\u0430ris", "U+0430 CYRILLIC SMALL LETTER A where U+0061"),
        ("fi", "\ufb01", "U+FB01 LATIN SMALL LIGATURE FI where U+0066"),
        ("Strasse 5", "Strasse \uff15", "U+FF15 FULLWIDTH DIGIT FIVE"),
        ("a\u2014b", "a-b", "U+002D HYPHEN-MINUS where U+2014 EM DASH"),
        ("Paris", "Rome", ""),
        ("cat", "cut", ""),
        ("Z\u00fcrich", "Basel", ""),
    ],
)
def test_feedback_names_the_character_that_differs(reference: str, answer: str, named: str) -> None:
    feedback = make_scorer("exact").score({"answers": (reference,)}, answer).feedback
    assert named in feedback
    assert bool(named) is ("U+" in feedback)


def test_feedback_names_the_number_that_was_read() -> None:
    feedback = make_scorer("numeric").score({"answers": ("1234",)}, "(1,234)").feedback
    assert feedback == 'expected "1234", got "(1,234)", which reads as -1234'


def test_f1_is_graded_and_hard_is_exact_match() -> None:
    score = make_scorer("f1").score({"answers": ("the red car",)}, "a red bus")
    assert (score.hard, score.soft) == (0.0, 0.5)
    assert right("f1", "Red car!", "the red car")


def test_numeric_takes_the_final_number_and_says_when_there_is_none() -> None:
    scorer = make_scorer("numeric", "1%")
    assert scorer.score({"answers": ("1,000",)}, "First 3.\nThen 1009 km").hard == 1.0
    assert scorer.score({"answers": ("1,000",)}, "1011").hard == 0.0
    unread = scorer.score({"answers": ("3.14",)}, "3,14")
    assert unread.feedback == 'expected "3.14", got "3,14", which holds no number like 1,234.5'


def test_regex_searches_the_whole_reply_and_keeps_its_pattern_to_itself() -> None:
    data = {"answers": ("2024-01-31",), "pattern": r"\b2024-(?:01)-31\b"}
    scorer = make_scorer("regex")
    assert scorer.score(data, "on 2024-01-31\nas said").hard == 1.0
    wrong = scorer.score(data, "31 January")
    assert wrong.feedback == 'got "31 January", which does not have the wanted form'
    assert data["pattern"] not in repr(wrong)


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        ("B", 1),
        ("b", 1),
        ("(B)", 1),
        ("B.", 1),
        ("**B**", 1),
        ("Option C", 2),
        ("Answer: C", 2),
        ("The answer is B.", 1),
        ("I am sure that the answer is (C)", 2),
        ("B) green", 1),
        ("B (green)", 1),
        ("Final answer: (B) green", 1),
        ("B (blue)", None),
        ("B. Green, since grass is", 1),
        ("GREEN", 1),
        ("a tone", 3),
        ("A tone", 3),
        ("A", 0),
        ("B) blue", None),
        ("E", None),
        ("green or blue", None),
        ("a dark one", None),
        ("", None),
        ("?", None),
        ("Answer: B because A is wrong", 1),
        ("The correct answer is B", 1),
        ("It is not A, so the answer is B", 1),
        ("**B**: the grass", 1),
        ("\uff22", 1),
        ("B: because A is wrong", 1),
        ("B. Incorrect", None),
        ("B) not this one", None),
        ("B. A", None),
        ("B is correct but so is C", None),
        ("anything but option B", None),
        ("the wrong answer is B", None),
        ("neither option A nor option B", None),
        ("There is no answer B", None),
    ],
)
def test_chosen_option(answer: str, option: int | None) -> None:
    assert chosen(answer, COLOURS) == option


@pytest.mark.parametrize(
    ("choices", "fault"),
    [
        (["one"], "1 option"),
        (["x"] * 27, "27 option"),
        (["Yes", "yes."], "A and B are the same"),
        (["no", "..."], "option B is empty"),
        (["B", "A"], "the letter of another option"),
        (["A", "B"], ""),
        (["C", "D"], ""),
        (["C++", "C"], ""),
    ],
)
def test_options_that_cannot_be_told_apart(choices: list[str], fault: str) -> None:
    found = choices_fault(choices)
    assert fault in found
    assert bool(found) is bool(fault)


def test_choice_scores_letter_and_text_alike() -> None:
    for answers in (("B",), ("green",)):
        assert right("choice", "B", *answers, choices=COLOURS)
        assert right("choice", "<answer>Green</answer>", *answers, choices=COLOURS)
        assert not right("choice", "C", *answers, choices=COLOURS)
    score = make_scorer("choice").score({"answers": ("B",), "choices": COLOURS}, "teal")
    assert score.expected == ("B. green",)
    assert score.feedback == 'expected "B. green", got "teal", which names none of the options'


@pytest.mark.parametrize(
    ("scorer", "data", "fault"),
    [
        ("exact", {"answers": ()}, "a reference answer is missing"),
        ("exact", {"answers": ("see <answer>x</answer>",)}, "does not get full marks"),
        ("contains", {"answers": ("thing\x1a",)}, "does not get full marks"),
        ("exact", {"answers": ("two\nlines",)}, ""),
        ("f1", {"answers": ("The",)}, "has no word"),
        ("contains", {"answers": ("!",)}, ""),
        ("numeric", {"answers": ("3,14",)}, "is not one number"),
        ("numeric", {"answers": ("12 %",)}, ""),
        ("regex", {"answers": ()}, "`pattern` is missing"),
        ("regex", {"answers": (), "pattern": "(a"}, "is not a regular expression"),
        ("regex", {"answers": (), "pattern": "a*"}, "found in an empty answer"),
        ("regex", {"answers": ("b",), "pattern": "a"}, "does not get full marks"),
        ("regex", {"answers": (), "pattern": "a"}, ""),
        ("choice", {"answers": ("A",)}, "`choices` is missing"),
        ("choice", {"answers": ("E",), "choices": COLOURS}, "neither a letter nor the text"),
        ("choice", {"answers": ("blue",), "choices": COLOURS}, ""),
    ],
)
def test_tasks_that_cannot_be_scored(scorer: str, data: dict[str, object], fault: str) -> None:
    found = make_scorer(scorer).check(data)  # type: ignore[arg-type]
    assert fault in found
    assert bool(found) is bool(fault)
