"""Runs are compared on the tasks they have in common, by split, id and content."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt_cli.core.errors import UsageError
from skillopt_cli.runlog.shared_tasks import shared_tasks


def made(selection: dict[str, str], test: dict[str, str], **config: Any) -> dict[str, Any]:
    return {"config": config, "splits": {"train": {}, "selection": selection, "test": test}}


def test_a_task_counts_by_split_id_and_content() -> None:
    first = made({"s1": "1", "s2": "2"}, {"e1": "1", "e2": "2", "e3": "3"})
    # `e1` has another content, `s2` is in another split.
    second = made({"s1": "1"}, {"e1": "9", "e2": "2", "e3": "3", "s2": "2"})
    found = shared_tasks({"a": first, "b": second}, {})
    assert found["selection"].tasks == {"s1"}
    assert found["test"].tasks == {"e2", "e3"}
    assert found["test"].sentence == (
        "Compared on the 2 test tasks that both runs have (of 3 and 4)."
    )
    three = shared_tasks({"a": first, "b": second, "c": made({}, {"e3": "3"})}, {})
    assert three["test"].sentence == (
        "Compared on the 1 test task that all runs have (of 3, 4 and 1)."
    )
    assert three["selection"].sentence == (
        "No selection task is in all runs (of 2, 1 and 0), so none is compared."
    )


def test_the_same_tasks_in_another_order_need_no_sentence() -> None:
    one = made({"s1": "1", "s2": "2"}, {})
    found = shared_tasks({"a": one, "b": made({"s2": "2", "s1": "1"}, {})}, {})
    assert found["selection"].same and not found["selection"].sentence
    assert found["test"].same


SAME_FILE = {"a": "x.csv (9 tasks)", "b": "x.csv (9 tasks)"}
OTHER_FILE = SAME_FILE | {"b": "y.csv\n(8 tasks)"}


@pytest.mark.parametrize(
    ("config", "data", "reason"),
    [
        ({"env.split_seed": 7}, SAME_FILE, "they differ in `env.split_seed` (a: default, b: 7)"),
        (
            {"env.split_seed": 7},
            OTHER_FILE,
            "they differ in `env.split_seed` (a: default, b: 7);"
            " a has x.csv (9 tasks); b has y.csv (8 tasks)",
        ),
        (
            {"train.seed": 7},
            OTHER_FILE,
            "their task files differ: a has x.csv (9 tasks); b has y.csv (8 tasks)",
        ),
        (
            {"train.seed": 7},
            SAME_FILE,
            "their splits have the same settings, so a task file is another one or has changed",
        ),
    ],
)
def test_runs_without_a_common_task_are_refused(
    config: dict[str, Any], data: dict[str, str], reason: str
) -> None:
    other = made({"s1": "2"}, {"s1": "1"}, **config)
    with pytest.raises(UsageError) as caught:
        shared_tasks({"a": made({"s1": "1"}, {}), "b": other}, data)
    assert "the runs a and b have no selection task" in caught.value.message
    assert caught.value.hint == f"{reason}; compare runs on the same data, cut alike"


def test_runs_that_measure_no_such_split_are_not_refused() -> None:
    assert not shared_tasks({"a": made({}, {}), "b": made({}, {})}, {})["test"].tasks
