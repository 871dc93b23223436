"""Calls and times as the displays count them."""

from __future__ import annotations

import pytest
from facts import opening, stamp

from skillopt_cli.core import events as ev
from skillopt_cli.core.task import Usage
from skillopt_cli.ui.folding import fold
from skillopt_cli.ui.limits import cap_amount


def test_a_stage_counts_what_the_ledger_counts() -> None:
    """An answer of no use was paid for; a try without an answer was not."""
    begun = [*opening(), ev.StageStarted(1, "reflect", 4, 4)]
    before = fold(stamp(begun)).ledger.total.calls
    view = fold(
        stamp([
            *begun,
            ev.CallMade("optimizer", "reflect", Usage(1, 10, 5), None),
            ev.CallFailed("optimizer", "reflect", "ServerFailed", Usage(1, 10, 0), None),
            ev.CallFailed("optimizer", "reflect", "RateLimited", None, None),
            ev.CallMade("optimizer", "ranking", Usage(1, 10, 5), None),
        ])
    )
    (stage,) = view.stages
    assert stage.calls == 2
    assert view.ledger.rows["optimizer", "reflect"].calls == 2
    assert view.ledger.total.calls - before == 3


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(0.05 / 60, "0.05s"), (0.02, "1.2s"), (0.05, "0.1"), (1.5, "1.5"), (90, "90"), (0, "0")],
)
def test_a_time_that_is_no_minutes_is_told_in_seconds(minutes: float, words: str) -> None:
    assert cap_amount("max_minutes", minutes) == words
    assert cap_amount("max_calls", 3) == "3"
