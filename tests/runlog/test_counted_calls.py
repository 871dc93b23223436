"""Calls and times as the displays count them."""

from __future__ import annotations

import pytest
from facts import opening, stamp

from skillopt_cli.core import events as ev
from skillopt_cli.core.task import Usage
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.text.limits import cap_limit, cap_pair


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


def test_calls_before_their_turn_belong_to_what_they_were_made_for() -> None:
    """The first rollout beside the baseline, and the test of the seed beside a step."""
    usage = Usage(1, 10, 5)
    early = [ev.CallMade("target", "rollout", usage), ev.CallMade("optimizer", "reflect", usage)]
    step = ev.StepStarted(1, 1, 1, 4, 4.0, 4, "cosine")
    before = fold(stamp(opening())).ledger.total.calls
    view = fold(stamp([*opening(), *early, step, ev.CallMade("target", "test", usage)]))
    assert view.step is not None
    assert view.step.ledger.total.calls == 2
    assert view.ledger.total.calls - before == 3
    assert view.redone == {}


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (0.05 / 60, "0.05s"),
        (0.02, "1.2s"),
        (0.05, "0.05"),
        (1.25, "1.25"),
        (90, "90"),
        (1e6, "1,000,000"),
    ],
)
def test_a_cap_on_time_is_told_as_it_was_set(minutes: float, words: str) -> None:
    assert cap_limit("max_minutes", minutes) == words


@pytest.mark.parametrize(
    ("cap", "spent", "limit", "words"),
    [
        ("max_minutes", 0.0312, 0.02, "1.9s of 1.2s"),
        ("max_minutes", 0.0003, 0.02, "0.02s of 1.2s"),
        ("max_minutes", 7.0, 0.02, "420s of 1.2s"),
        ("max_minutes", 0.512, 0.5, "0.51 of 0.5"),
        ("max_minutes", 0.50001, 0.5, "0.5 of 0.5"),
        ("max_minutes", 0.25, 0.5, "0.2 of 0.5"),
        ("max_minutes", 0.01, 1.0, "0.01 of 1"),
        ("max_minutes", 150.3, 150.0, "150.3 of 150"),
        ("max_usd", 0.5042, 0.5, "$0.504 of $0.50"),
        ("max_usd", 1234.5, 2000.0, "$1,234.50 of $2,000.00"),
        ("max_tokens", 10_004, 10_000, "10,004 of 10,000"),
        ("max_calls", 3, 5, "3 of 5"),
    ],
)
def test_what_goes_beyond_a_cap_is_not_rounded_away(
    cap: str, spent: float, limit: float, words: str
) -> None:
    assert " of ".join(cap_pair(cap, spent, limit)) == words
