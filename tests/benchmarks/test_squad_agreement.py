"""The SQuAD measures agree with those of `torchmetrics`, where that is installed."""

from __future__ import annotations

from random import Random

import pytest

from skillopt_cli.benchmarks.squad import exact_match, f1, normalise

WORDS = [
    "the",
    "a",
    "an",
    "Paris",
    "paris",
    "Rome,",
    "1,200",
    "U.S.A.",
    "it's",
    "don't",
    "é",
    ".",
    "of",
    "tower",
    "Tower!",
    "x",
]


def cases(count: int) -> list[tuple[str, list[str]]]:
    """Predictions and references, every one of which says something."""
    rng = Random(7)
    found: list[tuple[str, list[str]]] = []
    while len(found) < count:
        texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 4))) for _ in range(3)]
        golds = [gold for gold in texts[: rng.randint(1, 3)] if normalise(gold)]
        if golds:
            found.append((" ".join(rng.choices(WORDS, k=rng.randint(0, 5))), golds))
    return found


def test_measures_equal_the_librarys() -> None:
    library = pytest.importorskip("torchmetrics.functional.text").squad
    for prediction, golds in cases(400):
        told = library(
            [{"prediction_text": prediction, "id": "1"}],
            [{"answers": {"answer_start": [0] * len(golds), "text": golds}, "id": "1"}],
        )
        assert exact_match(prediction, golds) == bool(told["exact_match"] == 100)
        assert f1(prediction, golds) == pytest.approx(float(told["f1"]) / 100)
