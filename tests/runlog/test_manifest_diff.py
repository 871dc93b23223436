"""Runs may be compared only on the same tasks; what else differs is listed."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt_cli.core.errors import UsageError
from skillopt_cli.runlog.manifest_diff import Difference, differences, require_same_tasks


def made(**changes: Any) -> dict[str, Any]:
    return {
        "config": {"train.seed": 1, "train.num_epochs": 2},
        "benchmark": "toy/1",
        "target": "a" * 64,
        "optimizer": "b" * 64,
        "seed_skill": "c" * 64,
        "prompts": {"rank": "d" * 64},
        "splits": {
            "train": {"t1": "11"},
            "selection": {"s1": "21", "s2": "22"},
            "test": {"e1": "31"},
        },
    } | changes


def splits(**changes: dict[str, str]) -> dict[str, Any]:
    return {"splits": made()["splits"] | changes}


def test_the_same_tasks_in_another_order_are_the_same() -> None:
    other = made(**splits(selection={"s2": "22", "s1": "21"}))
    require_same_tasks({"a": made(), "b": other})
    assert differences([made(), other]) == []


def test_other_tasks_are_refused_with_their_number() -> None:
    other = made(**splits(selection={"s1": "21", "s2": "changed", "s3": "23"}))
    with pytest.raises(UsageError) as caught:
        require_same_tasks({"a": made(), "b": made(), "c": other})
    assert caught.value.message == "the runs a and c do not have the same selection tasks"
    assert caught.value.hint.startswith("2 of 3 selection tasks are in one only")
    worse = made(**splits(selection={}, test={"e2": "31"}))
    with pytest.raises(UsageError) as caught:
        require_same_tasks({"a": made(), "b": worse})
    assert "selection and test tasks" in caught.value.message
    assert "2 of 2 selection and 2 of 2 test tasks" in caught.value.hint


def test_other_train_tasks_are_a_difference_and_no_obstacle() -> None:
    other = made(**splits(train={"t2": "12"}))
    require_same_tasks({"a": made(), "b": other})
    assert [one.key for one in differences([made(), other])] == ["(train tasks)"]


def test_differences_come_with_the_value_of_each_run() -> None:
    second = made(config={"train.seed": 2, "train.num_epochs": 2, "env.name": "x"})
    third = made(
        benchmark="toy/2", seed_skill="e" * 64, prompts={"rank": "f" * 64, "new": "f" * 64}
    )
    assert differences([made(), second, third]) == [
        Difference("(benchmark)", ("toy/1", "toy/1", "toy/2")),
        Difference("(prompts new)", (None, None, "f" * 12), digests=True),
        Difference("(prompts rank)", ("d" * 12, "d" * 12, "f" * 12), digests=True),
        Difference("(seed skill)", ("c" * 12, "c" * 12, "e" * 12), digests=True),
        Difference("env.name", ("", "x", "")),
        Difference("train.seed", (1, 2, 1)),
    ]


def test_files_that_differ_are_named_where_all_runs_have_them() -> None:
    first = made(files={"seed_skill": {"SKILL.md": "1", "a.py": "1"}})
    other = made(seed_skill="e" * 64, files={"seed_skill": {"SKILL.md": "2", "a.py": "1"}})
    unknown = made(seed_skill="e" * 64)
    (named,), (alone,) = differences([first, other]), differences([first, unknown])
    assert (named.key, alone.key) == ("(seed skill, content of SKILL.md)", "(seed skill)")


def test_a_section_that_one_run_sets_differs_only_in_what_is_not_by_default() -> None:
    default = {"model.simulated.seed": 0, "model.simulated.noise": 0.0}
    plain, slow = made(), made(config=made()["config"] | default)
    assert differences([plain, slow]) == []
    slow["config"]["model.simulated.latency_ms"] = 400.0
    assert differences([plain, slow]) == [Difference("model.simulated.latency_ms", (0.0, 400.0))]
