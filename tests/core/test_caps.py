"""Caps: what is used of one, what work costs, what is kept back."""

from __future__ import annotations

import pytest

from skillopt_cli.core.caps import CAPS, Cap, Reserve, Use, Work
from skillopt_cli.core.events import CallMade, RunEvent
from skillopt_cli.core.ledger import Ledger
from skillopt_cli.core.task import Usage

ROLLOUT = CallMade("target", "rollout", Usage(1, 80, 20), 0.01)
ASK = CallMade("optimizer", "reflect", Usage(1, 900, 100), 0.2)


def use(*events: RunEvent, minutes: float = 0.0) -> Use:
    ledger = Ledger()
    for event in events:
        ledger = ledger.after(event)
    return Use(ledger, minutes)


def test_each_cap_has_its_own_unit() -> None:
    some = use(ROLLOUT, ROLLOUT, ASK, minutes=3.0)
    found = {cap: some.of(cap) for cap in CAPS}
    assert found == pytest.approx({
        "max_usd": 0.22,
        "max_calls": 3,
        "max_tokens": 1200,
        "max_rollouts": 2,
        "max_minutes": 3.0,
    })
    with pytest.raises(ValueError, match="max_joy"):
        some.of("max_joy")


def test_a_call_of_unknown_cost_counts_like_the_dearest() -> None:
    silent = CallMade("target", "rollout", Usage(1))
    some = use(ROLLOUT, ASK, silent, silent)
    assert some.of("max_usd") == pytest.approx(0.21 + 2 * 0.2)
    assert some.of("max_tokens") == 1100 + 2 * 1000


def test_work_costs_what_it_did_so_far() -> None:
    some = use(ROLLOUT, ROLLOUT, ASK, minutes=4.0)
    found = {cap: some.cost(Work(10, 1), cap) for cap in CAPS}
    assert found == pytest.approx({
        "max_usd": 0.1 + 0.2,
        "max_calls": 11,
        "max_tokens": 1000 + 1000,
        "max_rollouts": 10,
        "max_minutes": 20.0,
    })


def test_before_the_first_rollout_only_numbers_of_calls_are_known() -> None:
    greeted = use(CallMade("target", "preflight", Usage(1, 5000, 5000), 9.0))
    assert {cap: greeted.cost(Work(10), cap) for cap in CAPS} == {
        "max_usd": None,
        "max_calls": 10.0,
        "max_tokens": None,
        "max_rollouts": 10,
        "max_minutes": None,
    }


def test_attempts_of_several_turns_take_several_calls() -> None:
    turns = [CallMade("target", "rollout", Usage(1, 10, 1), turn=turn) for turn in range(3)]
    assert use(*turns).cost(Work(10), "max_calls") == 30


@pytest.mark.parametrize(("limit", "kept"), [(29, 0.0), (30, 12.0), (1000, 12.0)])
def test_nothing_is_kept_of_a_cap_that_cannot_pay_for_a_step_and_the_test(
    limit: int, kept: float
) -> None:
    reserve = Reserve(last=Work(12), first=Work(18))
    cap = Cap("max_rollouts", limit)
    assert reserve.kept(cap, use()) == kept
    assert reserve.fits(cap, use()) == (kept > 0)


@pytest.mark.parametrize(
    ("cap", "first", "kept"),
    [
        ("max_usd", 0.18, 0.15),
        ("max_tokens", 1800, 1500),
        ("max_minutes", 18.0, 15.0),
        ("max_calls", 18, 12),
        ("max_rollouts", 18, 12),
    ],
)
def test_a_quarter_more_than_the_averages_is_kept_where_they_decide(
    cap: str, first: float, kept: float
) -> None:
    reserve, some = Reserve(last=Work(12), first=Work(18)), use(ROLLOUT, minutes=1.0)
    assert reserve.kept(Cap(cap, first + kept + 0.001), some) == pytest.approx(kept)
    assert reserve.kept(Cap(cap, first + kept - 0.001), some) == 0.0


def test_a_cap_is_called_by_its_name_and_limit() -> None:
    assert str(Cap("max_calls", 1000000)) == "max_calls of 1000000"
    assert str(Cap("max_usd", 0.25)) == "max_usd of 0.25"
