"""The SQuAD measures are those of the official script, which the package `xlnet-tensorflow` ships.

It needs nothing but numpy: of that package only the script is imported.
"""

from __future__ import annotations

from random import Random

import pytest
from xlnet import squad_utils as official

from skillopt_cli.benchmarks.squad import exact_match, f1, normalise

COUNT = 600
WORDS = (
    *("the", "a", "An", "THE", "Paris", "paris", "Rome,", "tower", "Tower!", "of", "x", "yes yes"),
    *("1,200", "1200", "U.S.A.", "usa", "it's", "don't", "rock-'n'-roll", "C++", "12.5%", "$5"),
    *(
        "é",
        "É",
        "“Emma”",
        "\u2013",
        ".",
        "?!",
        "a.m.",
        "the-end",
        "the_end",
        "\t",
        "\n",
        "\u00a0",
        "",
    ),
)


def cases() -> list[tuple[str, list[str]]]:
    """Predictions and their references, some of both without a word that counts."""
    rng = Random(7)
    found = []
    for _ in range(COUNT):
        golds = [
            " ".join(rng.choices(WORDS, k=rng.randint(0, 4))) for _ in range(rng.randint(1, 3))
        ]
        near = rng.choice(golds).split(" ")
        rng.shuffle(near)
        far = rng.choices(WORDS, k=rng.randint(0, 5))
        found.append((" ".join(rng.choice((near, near + far[:1], far))), golds))
    return found


CASES = cases()


def test_texts_are_normalised_alike() -> None:
    for text in {text for prediction, golds in CASES for text in (prediction, *golds)}:
        assert normalise(text) == official.normalize_answer(text), repr(text)


def test_measures_over_the_script_run_as_a_whole() -> None:
    # The script drops references without a word, and puts one that is blank where none is left.
    told = [golds for _, golds in CASES]
    questions = [
        {"id": str(number), "answers": [{"text": gold} for gold in golds]}
        for number, golds in enumerate(told)
    ]
    predictions = {str(number): prediction for number, (prediction, _) in enumerate(CASES)}
    exact, shares = official.get_raw_scores([{"paragraphs": [{"qas": questions}]}], predictions)
    kept = [[gold for gold in golds if normalise(gold)] or [""] for golds in told]
    for number, (prediction, _) in enumerate(CASES):
        case = (prediction, kept[number])
        assert exact_match(*case) == bool(exact[str(number)]), case
        assert f1(*case) == pytest.approx(shares[str(number)]), case
    assert 60 < sum(exact.values()) < COUNT - 60
    assert sum(0 < share < 1 for share in shares.values()) > 60


def test_measures_of_one_reference() -> None:
    for prediction, golds in CASES:
        for gold in golds:
            assert exact_match(prediction, [gold]) == bool(official.compute_exact(gold, prediction))
            assert f1(prediction, [gold]) == pytest.approx(official.compute_f1(gold, prediction))
