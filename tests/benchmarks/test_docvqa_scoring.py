"""ANLS by hand and against its published definition; references in all their forms."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from published_measures import published_anls

from skillopt_cli.benchmarks.docvqa.references import references
from skillopt_cli.benchmarks.docvqa.scoring import anls, anls_score


@pytest.mark.parametrize(
    ("answer", "golds", "wanted"),
    [
        ("Paris", ["Paris"], 1.0),
        ("paris", ["PARIS"], 1.0),
        ("  Paris \n", ["Paris"], 1.0),
        ("New\t York", ["new york"], 1.0),
        ("NewYork", ["new york"], 1 - 1 / 8),
        ("1,200", ["1,200"], 1.0),
        ("1200", ["1,200"], 1 - 1 / 5),
        ("$1,200", ["1,200"], 1 - 1 / 6),
        ("1.50", ["1.5"], 1 - 1 / 4),
        ("Pariss", ["Paris"], 1 - 1 / 6),
        ("Pari", ["Paris"], 1 - 1 / 5),
        ("ab", ["ac"], 0.0),  # half of it differs
        ("abc", ["abd"], 1 - 1 / 3),
        ("abcd", ["abxy"], 0.0),
        ("abcde", ["abcxy"], 1 - 2 / 5),
        ("", ["Paris"], 0.0),
        ("Paris", [""], 0.0),
        ("", [""], 1.0),
        (" ", ["", "Paris"], 1.0),
        ("Paris", [], 0.0),
        ("London", ["Paris", "London"], 1.0),
        ("Londen", ["Paris", "London", "Londin"], 1 - 1 / 6),
        ("the answer is Paris", ["Paris"], 0.0),
        ("Straße", ["STRASSE"], 1 - 2 / 7),  # lower case, not case folding
        ("14 march 1968", ["14 March 1968", "March 14, 1968"], 1.0),
        ("12.5%", ["12.5"], 1 - 1 / 5),
        ("yes.", ["yes"], 1 - 1 / 4),
        ("\U0001f600", ["\U0001f600"], 1.0),
    ],
)
def test_anls(answer: str, golds: list[str], wanted: float) -> None:
    assert anls(answer, golds) == pytest.approx(wanted, abs=1e-12)


def pairs(n: int) -> list[tuple[str, list[str]]]:
    """Answers that are references with something changed, and ones that are something else."""
    rng = Random(7)
    letters = "abcdeABCDE 1234,.$%-é"
    made = []
    for _ in range(n):
        golds = ["".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(3)]
        text = list(rng.choice(golds))
        for _ in range(rng.randint(0, 5)):
            place = rng.randrange(len(text) + 1)
            text[place : place + rng.randint(0, 2)] = rng.choices(letters, k=rng.randint(0, 2))
        made.append(("".join(text), golds[: rng.randint(1, 3)]))
    return made


def test_it_agrees_with_the_published_definition() -> None:
    cases = pairs(600)
    scores = [anls(answer, golds) for answer, golds in cases]
    assert scores == [published_anls(answer, golds) for answer, golds in cases]
    assert sum(0 < score < 1 for score in scores) > 150
    assert min(scores.count(0.0), scores.count(1.0)) > 50


@pytest.mark.parametrize(
    ("answer", "hard", "feedback"),
    [
        ("Aldbury Print Works", 1.0, ""),
        (
            "Aldbury Print Work",
            0.0,
            'expected "Aldbury Print Works", got "Aldbury Print Work"; near, but not the same'
            " (ANLS 0.95)",
        ),
        ("Fenton", 0.0, 'expected "Aldbury Print Works", got "Fenton"'),
        ("", 0.0, 'expected "Aldbury Print Works", got an empty answer'),
    ],
)
def test_every_miss_has_a_reason(answer: str, hard: float, feedback: str) -> None:
    score = anls_score(answer, ("Aldbury Print Works",))
    assert (score.hard, score.feedback) == (hard, feedback)
    assert score.expected == ("Aldbury Print Works",)


def test_what_differs_by_less_than_a_thousandth_is_right() -> None:
    long = "x" * 2000
    assert anls_score(long + "y", (long,)).hard == 1.0
    assert anls_score(long[:500] + "y", (long[:500],)).hard == 0.0


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("Paris", ["Paris"]),
        (" Paris ", [" Paris "]),
        ("1,200", ["1,200"]),
        ("1.50", ["1.50"]),
        ("0x10", ["0x10"]),
        ("1_000", ["1_000"]),
        ("None", ["None"]),
        ("True", ["True"]),
        ("'quoted'", ["'quoted'"]),
        ("(1, 200)", ["(1, 200)"]),
        ("['a', 'b']", ["a", "b"]),
        ('["a", "b"]', ["a", "b"]),
        ('["it\'s", "1,200"]', ["it's", "1,200"]),
        ("['1.50', 2.50, 0x10, -3]", ["1.50", "2.50", "0x10", "-3"]),
        ("[1.50, 1e3]", ["1.50", "1e3"]),
        ("[illegible]", ["[illegible]"]),
        ("[sic] 12", ["[sic] 12"]),
        ("[]", []),
        ("['', 'a', 'a']", ["a"]),
        ("{'answers': ['a', 'b']}", ["a", "b"]),
        ('{"ground_truth": "a"}', ["a"]),
        ("{curly}", ["{curly}"]),
        ("[__import__('os')]", ["[__import__('os')]"]),
        ("[" * 5000 + "]" * 5000, ["[" * 5000 + "]" * 5000]),
        ([{"text": "a"}, {"answer": "b"}, {"value": 7}, {"other": "c"}], ["a", "b", "7"]),
        ({"answer": ["a"]}, ["a"]),
        ({"other": ["a"]}, []),
        (["a", 1200, 1.5, None, True], ["a", "1200", "1.5"]),
        (1968, ["1968"]),
        (None, []),
        ("", []),
    ],
)
def test_references_are_read_as_they_are_written(value: Any, wanted: list[str]) -> None:
    assert list(references(value)) == wanted
