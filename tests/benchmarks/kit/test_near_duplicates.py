"""Tasks of two splits that are nearly the same."""

from __future__ import annotations

from itertools import combinations

import pytest

from skillopt_cli.benchmarks.kit.labels import Referenced
from skillopt_cli.benchmarks.kit.near_duplicates import near_duplicates
from skillopt_cli.core.task import Split, Task

FORM = "Here is a page of an old diary. Say in one word what its writer was most afraid of."
STORIES = (
    "We rowed all night, and nobody dared to look back at the lights of the town.",
    "Mother locks the cellar now. I hear it scratch, though she laughs at me for it.",
    "Snow again; the mules will not cross the pass, and there is flour for three days.",
    "They read out the names at noon. Mine was not among them, nor was my brother's.",
)


def prompted(name: str, split: Split, prompt: str) -> Referenced:
    return Referenced(Task(name, "task", {}), split, (), prompt)


@pytest.mark.parametrize(
    ("one", "other", "answers", "near"),
    [
        ("What is the capital of France?", "What's the capital of France", "xx", True),
        ("Name the colour of the sky.", "Name the color of the sky", "xx", True),
        (
            "Which river runs through Paris, then?",
            "Which river runs through Paris then",
            "xx",
            True,
        ),
        ("Is 7 a prime number or not?", "Is 9 a prime number or not?", "xx", False),
        ("What is the capital of France?", "What is the capital of Gabon?", "xy", False),
        ("What is the capital of France?", "Who wrote the national anthem?", "xx", False),
    ],
)
def test_near_duplicates(one: str, other: str, answers: str, near: bool) -> None:
    pair = [
        Referenced(Task("a", "task", {}), "train", (answers[0],), one),
        Referenced(Task("b", "task", {}), "test", (answers[1],), other),
    ]
    found = list(near_duplicates(pair))
    assert [(f.first, f.second) for f in found] == ([(pair[0], pair[1])] if near else [])
    assert all(0.9 <= f.share <= 1.0 and not f.exact for f in found)
    same_split = [pair[0], Referenced(pair[1].task, "train", pair[1].expected, other)]
    assert not list(near_duplicates(same_split))


def test_tasks_that_share_a_form_alone_are_not_alike() -> None:
    splits: tuple[Split, ...] = ("train", "train", "selection", "test")
    tasks = [
        prompted(f"t{n}", split, f"{FORM}\n{story}")
        for n, (split, story) in enumerate(zip(splits, STORIES, strict=True))
    ]
    assert not list(near_duplicates(tasks))
    twins = [prompted(f"twin-{one.task.id}", "test", one.prompt.upper()) for one in tasks[:3]]
    found = [(f.first.task.id, f.second.task.id, f.share) for f in near_duplicates(tasks + twins)]
    assert found == [(f"t{n}", f"twin-t{n}", 1.0) for n in range(3)]


def test_one_task_in_three_splits_is_three_pairs() -> None:
    splits: tuple[Split, ...] = ("train", "selection", "test")
    tasks = [prompted(split, split, "Yes, no") for split in splits]
    found = list(near_duplicates(tasks))
    assert all(f.exact for f in found)
    assert sorted((f.first.split, f.second.split) for f in found) == sorted(combinations(splits, 2))
