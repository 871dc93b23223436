"""How often a gate accepts a text against itself."""

from __future__ import annotations

from random import Random

import pytest

from skillopt_cli.core.false_accepts import false_accepts
from skillopt_cli.core.gate import GateRule
from skillopt_cli.core.score import BROKEN, Mark


def noisy(tasks: int, share: float) -> dict[str, list[Mark]]:
    """Draws of which a share of the tasks is flaky."""
    chance = Random(1)
    drawn: dict[str, list[Mark]] = {}
    for i in range(tasks):
        flaky = i < share * tasks
        values = [float(chance.random() < 0.5) if flaky else float(i % 2) for _ in range(5)]
        drawn[str(i)] = [Mark(value, value) for value in values]
    return drawn


def test_a_target_that_never_varies_fools_no_rule() -> None:
    found = false_accepts(noisy(40, 0.0), GateRule(), 50)
    assert (found.accepted, found.varied, found.rate) == (0, (), 0.0)


def test_strict_gates_accept_luck_and_paired_ones_hardly_do() -> None:
    draws = noisy(40, 0.5)
    strict = false_accepts(draws, GateRule(), 400)
    paired = false_accepts(draws, GateRule(policy="paired"), 400)
    assert 0.3 < strict.rate < 0.5
    assert paired.rate < 0.15
    assert strict == false_accepts(draws, GateRule(), 400)


@pytest.mark.parametrize("marks", [[BROKEN] * 3, [Mark(1.0, 1.0), BROKEN]])
def test_tasks_without_two_scores_are_left_out(marks: list[Mark]) -> None:
    assert false_accepts({"a": marks}, GateRule(), 10).accepted == 0
