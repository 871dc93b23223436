"""Preparing SearchQA with the real `datasets` library, on a local copy of the data set's layout."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from task_files import write_json, write_lines, write_splits

from skillopt_cli.benchmarks.searchqa import SPEC
from skillopt_cli.benchmarks.searchqa.prepare import DATASET, prepare
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS
from skillopt_cli.ports import BenchmarkRequest

# Each case runs in one child: `datasets` reads the environment when imported, which takes seconds.
CHILD = """
import json, sys
from pathlib import Path
from skillopt_cli.benchmarks.searchqa.prepare import prepare
from skillopt_cli.core.errors import DataError

for case in json.load(sys.stdin):
    manifest = Path(case["manifest"]) if case["manifest"] else None
    try:
        counts = prepare(Path(case["folder"]), manifest, dataset=case["dataset"])
        outcome = {"counts": counts}
    except DataError as error:
        outcome = {"error": error.message, "hint": error.hint}
    print("OUTCOME " + json.dumps(outcome))
"""


def row(key: str, **more: Any) -> dict[str, Any]:
    return {
        "key": key,
        "question": f"What is {key}?",
        "context": f"[DOC] {key} é",
        "answers": [f"thing {key}", "alias"],
        "labels": [{"end": [1], "start": [0]}],
    } | more


def manifest(folder: Path, train: list[str], selection: list[str], test: list[str]) -> Path:
    parts = [[{"id": key} for key in keys] for keys in (train, selection, test)]
    write_json(folder / "split_manifest.json", {"counts": {}})
    return write_splits(folder, *parts)


def dataset(folder: Path, train: list[dict[str, Any]], validation: list[dict[str, Any]]) -> Path:
    write_lines(folder / "train.jsonl", train)
    write_lines(folder / "validation.jsonl", validation)
    return folder


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if importlib.util.find_spec("datasets") is None:
        pytest.skip("the extra [data] is not installed")
    root = tmp_path_factory.mktemp("prepare")
    few = dataset(root / "few", [row(f"t{i}") for i in range(9)], [row("v0"), row("v1"), row("t8")])
    bad = dataset(root / "bad", [row("t0", answers=[]), row("t1"), row("t2")], [row("v0")])
    article = dataset(root / "article", [row("t0", answers=["The"]), row("t1")], [row("v0")])
    big = dataset(
        root / "big",
        [row("the", answers=["The"])]
        + [row(f"t{i}", question=f"What is {i % 2500}?") for i in range(3000)],
        [row("v0")],
    )
    bare = [{"key": "a", "question": "q", "context": "c"}]
    fine = manifest(root / "ids" / "fine", ["t3", "v1", "t1"], ["v0"], ["t2", "t0"])
    cases = {
        "fine": (few, fine),
        "over two splits": (few, manifest(root / "ids" / "over", ["t1"], ["t2"], ["t1"])),
        "absent": (few, manifest(root / "ids" / "absent", ["t1"], ["t2"], ["x1", "x2", "t3"])),
        "twice in source": (few, manifest(root / "ids" / "twice", ["t8"], ["t2"], ["t3"])),
        "bad answers": (bad, manifest(root / "ids" / "badm", ["t1"], ["t2"], ["t0"])),
        "article": (article, manifest(root / "ids" / "art", ["t1"], ["v0"], ["t0"])),
        "no field": (dataset(root / "bare", bare, bare), fine),
        "no manifest": (big, None),
        "no manifest again": (big, None),
        "too few": (few, None),
        "hub": (DATASET, None),
        "no folder": (root / "nothing", None),
    }
    write_json(root / "bad answers" / "split_manifest.json", {})  # of an earlier preparation
    sent = [
        {"folder": str(root / name), "manifest": str(ids) if ids else None, "dataset": str(source)}
        for name, (source, ids) in cases.items()
    ]
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(sent),
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(root / "hf")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("OUTCOME ")]
    results = dict(zip(cases, [json.loads(line.split(" ", 1)[1]) for line in lines], strict=True))
    return {"root": root, "manifest": fine, "few": few, **results}


def test_a_manifest_is_filled_in_its_own_order(outcomes: dict[str, Any]) -> None:
    folder = outcomes["root"] / "fine"
    assert outcomes["fine"] == {"counts": {"train": 3, "selection": 1, "test": 2}}
    items = json.loads((folder / "train/items.json").read_text(encoding="utf-8"))
    assert [item["id"] for item in items] == ["t3", "v1", "t1"]
    assert items[0] == {
        "id": "t3",
        "question": "What is t3?",
        "context": "[DOC] t3 é",
        "answers": ["thing t3", "alias"],
    }


def test_prepared_data_is_complete_and_loads(outcomes: dict[str, Any], tmp_path: Path) -> None:
    folder = outcomes["root"] / "fine"
    about = json.loads((folder / "split_manifest.json").read_text(encoding="utf-8"))
    assert about == {
        "source_dataset": str(outcomes["few"]),
        "source_manifest_dir": str(outcomes["manifest"]),
        "split_seed": None,
        "counts": {"train": 3, "val": 1, "test": 2},
        "item_fields": ["id", "question", "context", "answers"],
    }
    (tmp_path / "searchqa").symlink_to(folder)
    benchmark = SPEC.open(BenchmarkRequest(data_root=tmp_path))
    assert benchmark.source == "searchqa (3 train / 1 selection / 2 test)"
    assert [task.id for task in benchmark.tasks("test")] == ["t2", "t0"]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("over two splits", "record 1: the id `t1` occurs already in "),
        ("absent", "lacks 2 of the 5 wanted ids: `x1`, `x2`"),
        ("twice in source", "holds more than once 1 of the 3 wanted ids: `t8`"),
        ("bad answers", "the record `t0` has no usable `answers`"),
        ("article", "the record `t0` has no usable `answers`"),
        ("no field", "split `train` of `"),
        ("no field", "has no field `answers`"),
        ("too few", "the data set has 10 usable records, 2000 are wanted"),
        ("hub", "cannot load the data set `lucadiliello/searchqa`: "),
        ("no folder", "cannot load the data set `"),
    ],
)
def test_what_does_not_fit_is_refused(outcomes: dict[str, Any], case: str, message: str) -> None:
    assert message in outcomes[case]["error"]
    assert "\n" not in outcomes[case]["error"]
    assert not (outcomes["root"] / case / "split_manifest.json").exists()
    assert not list((outcomes["root"] / case).rglob("*.part"))


def test_a_hub_failure_comes_with_a_hint(outcomes: dict[str, Any]) -> None:
    assert "HF_HUB_OFFLINE" in outcomes["hub"]["hint"]


def test_without_a_manifest_a_seeded_selection_is_drawn(outcomes: dict[str, Any]) -> None:
    counts = {"train": 400, "selection": 200, "test": 1400}
    assert outcomes["no manifest"] == outcomes["no manifest again"] == {"counts": counts}
    first, second = (
        SPEC.open(BenchmarkRequest(split_dir=outcomes["root"] / name))
        for name in ("no manifest", "no manifest again")
    )
    questions: set[str] = set()
    for split in SPLITS:
        assert [t.id for t in first.tasks(split)] == [t.id for t in second.tasks(split)]
        questions.update(task.data["question"] for task in first.tasks(split))
        assert "the" not in {task.id for task in first.tasks(split)}
    assert len(questions) == 2000
    assert [t.id for t in first.tasks("train")][:3] != ["t0", "t1", "t2"]


def test_without_the_package_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError) as caught:
        prepare(tmp_path)
    assert caught.value.hint == "pip install 'skillopt-cli[data]'"
    assert caught.value.exit_code == 3


def test_a_failed_preparation_leaves_a_complete_one_alone(tmp_path: Path) -> None:
    write_json(tmp_path / "data" / "split_manifest.json", {})
    with pytest.raises(DataError):
        prepare(tmp_path / "data", manifest(tmp_path / "m", ["a"], ["a"], ["b"]))
    assert (tmp_path / "data" / "split_manifest.json").exists()
