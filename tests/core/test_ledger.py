"""The ledger: sums of what is known, with what is not known counted beside them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.events import (
    CallFailed,
    CallMade,
    CallRetried,
    PreflightPassed,
    Role,
    RunEvent,
    RunStarted,
    Stamped,
)
from skillopt_cli.core.ledger import Ledger, Spent, Worked
from skillopt_cli.core.task import Usage

counts = st.none() | st.integers(0, 1000)
usages = st.builds(Usage, st.just(1), counts, counts, counts, counts)
prices = st.none() | st.integers(0, 100).map(float)
roles = st.sampled_from(["target", "optimizer"])
stages = st.sampled_from(["preflight", "rollout", "measure", "reflect"])
answered = st.builds(CallMade, roles, stages, usages, prices, st.integers(0, 2))
failed = st.builds(CallFailed, roles, stages, st.just("X"), st.none() | usages, prices)


def booked(*events: RunEvent) -> Ledger:
    ledger = Ledger()
    for event in events:
        ledger = ledger.after(event)
    return ledger


def test_calls_are_booked_by_role_and_stage() -> None:
    ledger = booked(
        CallMade("target", "rollout", Usage(1, 10, 2, 4, 1), 0.5),
        CallMade("target", "rollout", Usage(1, 20, 3), 0.25),
        CallMade("optimizer", "reflect", Usage(1, 7, None), None),
        CallRetried("target", "rollout", "busy", 1.0),
    )
    assert ledger.rows == {
        ("target", "rollout"): Spent(2, 0, 30, 5, 4, 1, 0.75),
        ("optimizer", "reflect"): Spent(1, 0, 7, None, silent=1, unpriced=1),
    }
    assert ledger.by_role("target").tokens == 35
    assert ledger.total == Spent(3, 0, 37, 5, 4, 1, 0.75, 1, 1)
    assert (ledger.most_tokens, ledger.most_usd) == (23, 0.5)


def test_a_try_that_failed_costs_what_was_answered_and_nothing_else() -> None:
    ledger = booked(
        CallFailed("target", "rollout", "RateLimited"),
        CallFailed("target", "rollout", "ServerFailed", Usage(1, 10, 0), 0.1),
    )
    assert ledger.total == Spent(1, 2, 10, 0, usd=0.1)
    # Nothing came of it that could be scored.
    assert ledger.rollouts == 0


def test_unknown_is_never_nought() -> None:
    assert booked(CallMade("target", "rollout", Usage(1))).total == Spent(1, silent=1, unpriced=1)
    assert booked().total == Spent()
    assert Spent().usd is None


def test_a_rollout_is_what_the_target_first_answers_to_a_task() -> None:
    asked: list[tuple[Role, str, int]] = [
        ("target", "preflight", 0),
        ("target", "rollout", 0),
        ("target", "rollout", 1),
        ("optimizer", "reflect", 0),
        ("target", "test", 0),
    ]
    ledger = booked(*(CallMade(role, stage, Usage(1), turn=turn) for role, stage, turn in asked))
    assert ledger.rollouts == 2
    assert ledger.at_work("target").calls == 3


@given(st.lists(answered | failed, max_size=20))
def test_rows_roles_and_total_agree_in_any_order(events: list[RunEvent]) -> None:
    ledger = booked(*events)
    rows = list(ledger.rows.values())
    assert sum(rows, Spent()) == ledger.total
    assert ledger.by_role("target") + ledger.by_role("optimizer") == ledger.total
    assert booked(*reversed(events)) == ledger
    assert ledger.total.failed == sum(isinstance(event, CallFailed) for event in events)


def started() -> RunStarted:
    return RunStarted("r", "b", 0, 1, 1, "o", "t", "d", 1, 1, 1, "hard")


def test_pauses_between_processes_are_not_work() -> None:
    worked = Worked()
    passed = PreflightPassed("target", "m")
    for time, event in [
        (100.0, started()),
        (130.0, passed),
        (9000.0, started()),
        (9010.0, passed),
    ]:
        worked = worked.after(Stamped(1, time, event))
    assert worked.seconds == 40.0
