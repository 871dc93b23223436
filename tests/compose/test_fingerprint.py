"""The manifest: what counts as a changed condition."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from skillopt_cli.compose.fingerprint import (
    Change,
    binding,
    config_drift,
    drift,
    manifest,
    read_manifest,
    refuse_drift,
)
from skillopt_cli.config.layers import assignment_layers, resolve
from skillopt_cli.core.errors import DataError, DriftRefused
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.testing import Toy, toy_run


@pytest.fixture
def old() -> dict[str, Any]:
    return manifest(toy_run(Toy()), SkillDocument("# Seed\n\nTry.\n"))


def changed(old: dict[str, Any], **parts: Any) -> list[str]:
    return [change.words for change in drift(old, {**copy.deepcopy(old), **parts})]


def test_equal_conditions_are_no_drift(old: dict[str, Any]) -> None:
    assert changed(old) == []
    refuse_drift([])


@pytest.mark.parametrize(
    "assignment",
    [
        "run.workers=1",
        "run.display=none",
        "run.cache_dir=elsewhere",
        "model.retry.max_attempts=1",
        "model.target.timeout=5",
        "model.api_key_env=OTHER_KEY",
        "gradient.analyst_workers=2",
        "env.out_root=elsewhere",
        "env.split_dir=moved",
    ],
)
def test_what_alters_no_text_and_no_score_may_change(assignment: str) -> None:
    before = {"config": binding(resolve([]).config)}
    after = binding(resolve(assignment_layers([assignment])).config)
    assert config_drift(before, after) == []


@pytest.mark.parametrize(
    ("assignment", "line"),
    [
        ("train.num_epochs=5", "train.num_epochs: 4 -> 5"),
        ("evaluation.gate_metric=soft", 'evaluation.gate_metric: "hard" -> "soft"'),
        ("model.target=other", 'model.target.name: null -> "other"'),
        ("env.scorer=f1", 'env.scorer: null -> "f1"'),
        ("gradient.minibatch_size=2", "gradient.minibatch_size: 8 -> 2"),
    ],
)
def test_what_may_alter_one_is_listed_with_both_values(assignment: str, line: str) -> None:
    before = {"config": binding(resolve([]).config)}
    after = binding(resolve(assignment_layers([assignment])).config)
    assert [change.words for change in config_drift(before, after)] == [line]


def test_models_prompts_seed_and_tasks_count_too(old: dict[str, Any]) -> None:
    assert changed(old, seed_skill="x") == ["seed skill is another one"]
    assert changed(old, target="x") == ["target is another one"]
    assert changed(old, benchmark="toy/2") == ["benchmark is another one"]
    assert len(changed(old, prompts={**old["prompts"], "ranking": "x"})) == 1
    splits = copy.deepcopy(old["splits"])
    first = next(iter(splits["train"]))
    splits["train"][first] = "x"
    assert changed(old, splits=splits) == [f"the train split differs in 1 task: {first}"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"a.py": "1"}, {"a.py": "2"}, ": a.py changed"),
        ({"a.py": "1", "b": "1"}, {"a.py": "2", "c": "1"}, ": a.py changed, b is gone, c is new"),
        ({"a.py": "1"}, {"a.py": "1"}, ""),
        ({}, {"a.py": "1"}, ""),
        ({"a.py": "1"}, {}, ""),
    ],
)
@pytest.mark.parametrize("part", ["target", "seed_skill"])
def test_the_files_of_a_part_that_changed_are_named(
    old: dict[str, Any], part: str, before: dict[str, str], after: dict[str, str], words: str
) -> None:
    known = {**old, "files": {part: before}}
    given = {**old, part: "x", "files": {part: after}}
    (change,) = drift(known, given)
    assert change.words == f"{part.replace('_', ' ')} is another one{words}"


def test_the_order_of_tasks_counts(old: dict[str, Any]) -> None:
    turned = {**old["splits"], "test": dict(reversed(old["splits"]["test"].items()))}
    assert changed(old, splits=turned) == ["the test split has another order"]


def test_versions_may_change(old: dict[str, Any]) -> None:
    assert changed(old, versions={"skillopt": "9"}) == []


def test_a_refusal_lists_every_change() -> None:
    with pytest.raises(DriftRefused) as caught:
        refuse_drift([Change("a: 1 -> 2"), Change("b: 3 -> 4")])
    assert "\n  a: 1 -> 2\n  b: 3 -> 4" in caught.value.message
    assert "--allow-drift" in caught.value.hint


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("other", "undo the changes, or add"),
        ("new setting", "finish it with the version that began it, or add"),
        ("seed skill", "undo the changes (`skillopt diff-skills --undo SKILL` takes back"),
    ],
)
def test_the_hint_depends_on_the_kind_of_a_change_and_not_on_its_words(
    kind: Literal["other", "new setting", "seed skill"], hint: str
) -> None:
    with pytest.raises(DriftRefused) as caught:
        refuse_drift([Change("seed skill is another one: (no such setting) -> 1", kind)])
    assert caught.value.hint.startswith(hint)


def test_a_manifest_survives_the_file_and_a_damaged_one_is_named(old: dict[str, Any]) -> None:
    path = Path("manifest.json")
    path.write_text(json.dumps(old), encoding="utf-8")
    assert drift(read_manifest(path), old) == []
    for text in ("{", "[]", "{}"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"manifest\.json"):
            read_manifest(path)
