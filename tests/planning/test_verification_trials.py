"""The trials of edits: what is likely of a round, and what bounds every step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.config.sections import OptimizerConfig
from skillopt_cli.planning.proposed_edits import Proposed, proposed_by_rules
from skillopt_cli.planning.verification_trials import MostTrials, likely_trials


def settings(verify: str = "edits", tasks: int = 3, **others: object) -> OptimizerConfig:
    return OptimizerConfig.model_validate({"verify": verify, "verify_tasks": tasks, **others})


def trials(chosen: OptimizerConfig, failed: float, edits: float, passing: float) -> float:
    """Attempts where each failed task is named by one edit."""
    named = failed / edits if edits else 0.0
    return likely_trials(chosen, failed, [Proposed(edits, named)], passing)


def most(chosen: OptimizerConfig, budget: int | None = 4) -> MostTrials:
    """Of a step of 12 tasks, read in minibatches of 4."""
    return MostTrials(chosen, 12, 4, budget)


def test_no_edit_and_no_verification_takes_no_trial() -> None:
    assert trials(settings("off"), 12, 6, 0.5) == 0
    assert trials(settings(), 12, 0, 0.5) == 0
    assert trials(settings(), 0, 6, 0.5) == 0


def test_edits_tried_together_take_each_failed_task_once() -> None:
    assert trials(settings("joint"), 12, 6, 0.5) == 12
    assert most(settings("joint")).on_failed(12) == 12


def test_edits_tried_alone_take_their_tasks_but_no_more_than_they_name() -> None:
    # Too few edits for a search to be worth it.
    assert trials(settings(), 12, 3, 0.5) == 9
    assert trials(settings(tasks=2), 12, 3, 0.5) == 6
    assert trials(settings(), 6, 3, 0.5) == 6


def test_an_edit_that_names_many_tasks_is_searched_for_at_once() -> None:
    # Each of 2 edits names 12 of 24 tasks; 8 halvings of half of them are never needed.
    assert trials(settings(), 24, 2, 0.5) == 24 * (1 + 0.5)


def test_a_search_is_likely_where_few_edits_pass() -> None:
    made = [trials(settings(), 12, 8, passing) for passing in (0.0, 0.5, 1.0)]
    # All fail, so all are tried together once more; or all pass.
    assert (made[0], made[2]) == (24, 12)
    assert made[2] < made[1] < made[0] * 2


def test_edits_that_name_many_tasks_are_searched_for_beside_those_tried_alone() -> None:
    few, many = Proposed(3, 4), Proposed(4, 7)
    alone, vague = (likely_trials(settings(), 12, [group], 0.5) for group in (few, many))
    assert (alone, vague) == (9, 12 * (1 + 0.5 * 2))
    assert likely_trials(settings(), 12, [few, many], 0.5) == alone + vague


def test_an_optimizer_without_a_model_tries_examples_while_there_is_room_and_rules() -> None:
    assert proposed_by_rules(40, 8, 0.25, 0) == [Proposed(8, 7), Proposed(8, 5)]
    assert proposed_by_rules(4, 8, 0.25, 0) == [Proposed(4, 3), Proposed(1, 4)]
    assert proposed_by_rules(40, 8, 0.25, 2)[0] == Proposed(8 * 0.75**2, 7)
    assert proposed_by_rules(0, 8, 0.25, 0) == [Proposed(0, 0), Proposed(0, 0)]


def test_at_most_all_edits_are_tried_alone_searched_for_and_tried_again() -> None:
    # 3 analysts of 4 edits, 3 tasks each; two searches of 6 edits, 3 halvings each, and again.
    assert most(settings()).on_failed(12) == 12 * 3 + 12 * (1 + 3 + 1 + 1 + 3)
    # All 16 edits of 4 analysts are searched for at once, or 8 of them after the others.
    sixteen = MostTrials(settings(), 16, 4, 4)
    assert sixteen.on_failed(16) == 16 * 3 + 16 * (1 + 3 + 1 + 1 + 3)
    # One edit is halved by nobody; two are, if they are searched for together.
    assert [MostTrials(settings(), 1, 1, n).on_failed(1) for n in (1, 2)] == [1 + 3, 2 + 3 + 1]
    twice = most(settings(reflect_rounds=2)).on_failed(12)
    assert twice == 2 * most(settings()).on_failed(12) + 12
    assert most(settings("off", reflect_rounds=2)).on_failed(12) == 12


def test_a_check_attempts_solved_tasks_without_and_with_each_edit() -> None:
    assert most(settings()).on_solved(5) == 0
    assert most(settings(check_passing=True)).on_solved(5) == 5 * (1 + 2 * 4)
    # Without a limit every edit of every analyst may be kept.
    assert most(settings(check_passing=True), None).on_solved(5) == 5 * (1 + 2 * 12)


@given(
    failed=st.integers(0, 12),
    edits=st.floats(0, 12),
    passing=st.floats(0, 1),
    verify=st.sampled_from(["off", "edits", "joint"]),
    tasks=st.integers(1, 9),
    before=st.integers(0, 9),
)
def test_what_is_likely_is_possible(
    failed: int, edits: float, passing: float, verify: str, tasks: int, before: int
) -> None:
    chosen = settings(verify, tasks)
    assert trials(chosen, failed, edits, passing) <= most(chosen).on_failed(failed) + 1e-9
    proposed = proposed_by_rules(failed, 4, passing, before)
    bound = MostTrials(chosen, 12, 4, 4, others=42).on_failed(failed)
    assert likely_trials(chosen, failed, proposed, passing) <= bound + 1e-9


@pytest.mark.parametrize("verify", ["off", "edits", "joint"])
def test_more_failed_tasks_never_take_fewer_trials(verify: str) -> None:
    bounds = [most(settings(verify, reflect_rounds=3)).on_failed(n) for n in range(13)]
    assert bounds == sorted(bounds)
