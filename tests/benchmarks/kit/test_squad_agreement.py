"""The SQuAD measures are those of the published definition, on many odd texts."""

from __future__ import annotations

from random import Random

import pytest
from published_measures import squad_exact, squad_f1, squad_words

from skillopt_cli.benchmarks.kit.squad import exact_match, f1, normalise

COUNT = 600
WORDS = (
    *("the", "a", "An", "THE", "Paris", "paris", "Rome,", "tower", "Tower!", "of", "x", "yes yes"),
    *("1,200", "1200", "U.S.A.", "usa", "it's", "don't", "rock-'n'-roll", "C++", "12.5%", "$5"),
    *("é", "É", "“Emma”", "“the”", "the\u2013end", "a\u0301", "\u2013", ".", "?!", "a.m.", "a²"),
    *("the-end", "the_end", "\t", "\n", "\u00a0", ""),
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
        assert normalise(text) == " ".join(squad_words(text)), repr(text)


def test_measures_over_several_references() -> None:
    exact, shares = [], []
    for prediction, golds in CASES:
        # The definition drops references without a word, and puts an empty one where none is left.
        kept = [gold for gold in golds if normalise(gold)] or [""]
        exact.append(squad_exact(prediction, golds))
        shares.append(squad_f1(prediction, golds))
        assert exact_match(prediction, kept) == exact[-1], (prediction, golds)
        assert f1(prediction, kept) == pytest.approx(shares[-1]), (prediction, golds)
    assert 60 < sum(exact) < COUNT - 60
    assert sum(0 < share < 1 for share in shares) > 60


def test_measures_of_one_reference() -> None:
    for prediction, golds in CASES:
        for gold in golds:
            assert exact_match(prediction, [gold]) == squad_exact(prediction, [gold])
            assert f1(prediction, [gold]) == pytest.approx(squad_f1(prediction, [gold]))
