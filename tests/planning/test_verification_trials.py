"""The trials of edits: what is likely of a round, and what bounds every step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.config.sections import OptimizerConfig
from skillopt_cli.planning.verification_trials import MostTrials, likely_trials


def settings(verify: str = "edits", tasks: int = 3, **others: object) -> OptimizerConfig:
    return OptimizerConfig.model_validate({"verify": verify, "verify_tasks": tasks, **others})


def most(chosen: OptimizerConfig, budget: int | None = 4) -> MostTrials:
    """Of a step of 12 tasks, read in minibatches of 4."""
    return MostTrials(chosen, 12, 4, budget)


def test_no_edit_and_no_verification_takes_no_trial() -> None:
    assert likely_trials(settings("off"), 12, 6, 0.5) == 0
    assert likely_trials(settings(), 12, 0, 0.5) == 0
    assert likely_trials(settings(), 0, 6, 0.5) == 0


def test_edits_tried_together_take_each_failed_task_once() -> None:
    assert likely_trials(settings("joint"), 12, 6, 0.5) == 12
    assert most(settings("joint")).on_failed(12) == 12


def test_edits_tried_alone_take_their_tasks_but_no_more_than_they_name() -> None:
    # Too few edits for a search to be worth it.
    assert likely_trials(settings(), 12, 3, 0.5) == 9
    assert likely_trials(settings(tasks=2), 12, 3, 0.5) == 6
    assert likely_trials(settings(), 6, 3, 0.5) == 6


def test_an_edit_that_names_many_tasks_is_searched_for_at_once() -> None:
    # Each of 2 edits names 12 of 24 tasks; 8 halvings of half of them are never needed.
    assert likely_trials(settings(), 24, 2, 0.5) == 24 * (1 + 0.5)


def test_a_search_is_likely_where_few_edits_pass() -> None:
    trials = [likely_trials(settings(), 12, 8, passing) for passing in (0.0, 0.5, 1.0)]
    # All fail, so all are tried together once more; or all pass.
    assert (trials[0], trials[2]) == (24, 12)
    assert trials[2] < trials[1] < trials[0] * 2


def test_at_most_all_edits_are_tried_alone_searched_for_and_tried_again() -> None:
    # 3 analysts of 4 edits, 3 tasks each; together once, 4 halvings, again, and one by itself.
    assert most(settings()).on_failed(12) == 12 * 3 + 12 * (1 + 4 + 1 + 1)
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
)
def test_what_is_likely_is_possible(
    failed: int, edits: float, passing: float, verify: str, tasks: int
) -> None:
    chosen = settings(verify, tasks)
    assert likely_trials(chosen, failed, edits, passing) <= most(chosen).on_failed(failed) + 1e-9


@pytest.mark.parametrize("verify", ["off", "edits", "joint"])
def test_more_failed_tasks_never_take_fewer_trials(verify: str) -> None:
    bounds = [most(settings(verify, reflect_rounds=3)).on_failed(n) for n in range(13)]
    assert bounds == sorted(bounds)
