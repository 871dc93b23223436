"""What a verdict is in clear cases, and how often it is wrong where nothing changed."""

from __future__ import annotations

from random import Random

import pytest

from skillopt_cli.core import paired_statistics
from skillopt_cli.core.run_verdict import VerdictRule, confirmation_slice, run_verdict
from skillopt_cli.core.score import BROKEN, HARD, Mark
from skillopt_cli.core.task import Task

RULE = VerdictRule(HARD)


def marks(values: list[float | None]) -> dict[str, Mark]:
    return {str(i): BROKEN if v is None else Mark(v, v) for i, v in enumerate(values)}


def test_a_clear_gain_is_an_improvement_and_its_reverse_is_worse() -> None:
    low, high = marks([0.0] * 30 + [1.0] * 18), marks([1.0] * 39 + [0.0] * 9)
    found = run_verdict(low, high, "test", RULE)
    assert (found.word, found.n, found.fixed, found.broke) == ("improved", 48, 30, 9)
    assert found.p_value < 0.05
    assert found.low is not None
    assert found.low > 0
    assert run_verdict(high, low, "test", RULE).word == "worse"


def test_a_small_difference_is_unproven_on_many_tasks_and_underpowered_on_few() -> None:
    for tasks, word in ((100, "unproven"), (10, "underpowered")):
        first = marks([1.0] * tasks)
        second = marks([1.0] * (tasks - 1) + [0.0])
        assert run_verdict(first, second, "test", RULE).word == word


def test_the_same_text_is_a_tie_whatever_was_drawn() -> None:
    found = run_verdict(marks([0.0] * 40), marks([1.0] * 40), "test", RULE, identical=True)
    assert (found.word, found.p_value, found.gain) == ("unproven", 1.0, None)


def test_too_many_broken_attempts_prove_nothing() -> None:
    first = marks([0.0] * 40)
    second = marks([1.0] * 30 + [None] * 10)
    found = run_verdict(first, second, "test", RULE)
    assert (found.word, found.n, found.asked) == ("underpowered", 30, 40)
    assert run_verdict(first, marks([None] * 40), "test", RULE).word == "underpowered"


@pytest.mark.parametrize("kind", ["binary", "graded"])
def test_an_edit_without_effect_is_seldom_called_an_improvement(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The interval is no part of the decision, and the bootstrap takes long a thousand times over.
    monkeypatch.setattr(paired_statistics, "paired_interval", lambda deltas: (0.0, 0.0))
    chance, called = Random(kind), 0
    for _ in range(1000):
        n = chance.choice((20, 48))
        rates = [chance.random() for _ in range(n)]

        def draw(rates: list[float] = rates) -> dict[str, Mark]:
            hits = [float(chance.random() < rate) for rate in rates]
            return marks([h if kind == "binary" else (h + chance.random()) / 2 for h in hits])

        called += run_verdict(draw(), draw(), "test", RULE).word == "improved"
    assert 0 < called <= 50


def test_a_confirmation_slice_depends_on_ids_alone() -> None:
    tasks = [Task(f"t{i}", "kind", {}) for i in range(40)]
    cut = confirmation_slice(tasks, 0.25)
    assert len(cut) == 10
    assert cut == confirmation_slice(tasks[::-1], 0.25)[::-1]
    assert confirmation_slice(tasks, 0.0) == ()
    assert len(confirmation_slice(tasks[:2], 0.9)) == 1
    assert confirmation_slice(tasks[:1], 0.5) == ()
