"""Preparing SpreadsheetBench and SWE-bench from local copies of what the hub holds."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from task_files import write_lines, write_splits

from skillopt_cli.benchmarks.spreadsheetbench import SPEC as SHEETS
from skillopt_cli.benchmarks.spreadsheetbench.prepare import ARCHIVE
from skillopt_cli.benchmarks.spreadsheetbench.prepare import prepare as prepare_sheets
from skillopt_cli.benchmarks.swebench import SPEC as SWE
from skillopt_cli.benchmarks.swebench.prepare import COUNTS, stratified
from skillopt_cli.core.errors import DataError
from skillopt_cli.ports import BenchmarkRequest

LITE = {
    "astropy": 6,
    "django": 114,
    "matplotlib": 23,
    "seaborn": 4,
    "flask": 3,
    "requests": 6,
    "xarray": 5,
    "pylint": 6,
    "pytest": 17,
    "scikit-learn": 23,
    "sphinx": 16,
    "sympy": 77,
}


def archive(folder: Path, records: list[dict[str, Any]], extra: str = "") -> Path:
    """A stand-in for the data set: its archive, with the sample's workbooks."""
    folder.mkdir(parents=True, exist_ok=True)
    assert SHEETS.sample is not None
    with tarfile.open(folder / ARCHIVE, "w:gz") as packed:

        def add(name: str, content: bytes) -> None:
            about = tarfile.TarInfo(name)
            about.size = len(content)
            packed.addfile(about, io.BytesIO(content))

        add("verified/dataset.json", json.dumps(records).encode())
        for record in records:
            for place in sorted((SHEETS.sample / "spreadsheet" / "s02").iterdir()):
                add(f"verified/spreadsheet/{record['id']}/{place.name}", place.read_bytes())
        if extra:
            add(extra, b"x")
    return folder


def sheet(key: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": key,
        "instruction": f"Count ({key}).",
        "instruction_type": "Cell-Level Manipulation",
        "answer_position": "F1",
        "spreadsheet_path": f"spreadsheet/{key}",
    } | more


def manifest(folder: Path, *parts: list[dict[str, Any]]) -> Path:
    return write_splits(folder, *parts)


def test_workbooks_come_with_their_records(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    source = archive(tmp_path / "hub", [sheet(1), sheet("a/b"), sheet("c"), sheet("d")])
    ids = manifest(tmp_path / "ids", [{"id": 1}], [{"id": "a/b"}], [{"id": "d"}])
    folder = tmp_path / "data" / "spreadsheetbench"
    (folder / "spreadsheet" / "old").mkdir(parents=True)
    assert prepare_sheets(folder, ids, dataset=str(source)) == {
        "train": 1,
        "selection": 1,
        "test": 1,
    }
    assert not (folder / "spreadsheet" / "old").exists()
    assert not list(folder.glob(".unpacked*"))
    benchmark = SHEETS.open(BenchmarkRequest(data_root=tmp_path / "data"))
    assert benchmark.source == "data/spreadsheetbench (1 train / 1 selection / 1 test)"
    assert [task.id for task in benchmark.tasks("selection")] == ["a/b"]
    about = json.loads((folder / "split_manifest.json").read_text())
    assert about["counts"] == {"train": 1, "val": 1, "test": 1}


def test_without_a_manifest_the_published_sizes_are_drawn(tmp_path: Path) -> None:
    source = archive(tmp_path / "hub", [sheet(n) for n in range(400)])
    counts = prepare_sheets(tmp_path / "data", dataset=str(source))
    assert counts == {"train": 80, "selection": 40, "test": 280}


@pytest.mark.parametrize(
    ("records", "extra", "said"),
    [
        ([sheet(1)], "", "lacks 2 of the 3 wanted ids"),
        ([sheet(1), sheet(1), sheet(2), sheet(3)], "", "holds more than once 1 of the 3"),
        ([sheet(1, instruction=""), sheet(2), sheet(3)], "", "`1` has no usable `instruction`"),
        ([sheet(1, spreadsheet_path="none"), sheet(2), sheet(3)], "", "no folder `none`"),
        ([sheet(1, spreadsheet_path="../x"), sheet(2), sheet(3)], "", r"no folder `\.\./x`"),
        ([sheet(1), sheet(2), sheet(3)], "../outside", "cannot be unpacked"),
    ],
)
def test_archives_that_cannot_be_used(
    tmp_path: Path, records: list[dict[str, Any]], extra: str, said: str
) -> None:
    source = archive(tmp_path / "hub", records, extra)
    ids = manifest(tmp_path / "ids", [{"id": 1}], [{"id": 2}], [{"id": 3}])
    with pytest.raises(DataError, match=said):
        prepare_sheets(tmp_path / "data", ids, dataset=str(source))
    assert not (tmp_path / "data" / "split_manifest.json").exists()
    with pytest.raises(DataError, match=r"holds an id and nothing else|package"):
        SHEETS.open(BenchmarkRequest(split_dir=ids))


def test_every_repository_is_split_alike() -> None:
    repos = {f"{repo}-{n}": repo for repo, count in LITE.items() for n in range(count)}
    splits = stratified(repos)
    assert {split: len(keys) for split, keys in splits.items()} == dict(COUNTS)
    assert sorted(key for keys in splits.values() for key in keys) == sorted(repos)
    for keys in splits.values():
        assert {repos[key] for key in keys} == set(LITE)
    backwards = dict(reversed(repos.items()))
    assert stratified(backwards) == splits


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, (0, 0, 1)), (2, (1, 0, 1)), (3, (1, 1, 1)), (10, (2, 1, 7))]
)
def test_small_repositories(count: int, sizes: tuple[int, int, int]) -> None:
    splits = stratified({str(n): "r" for n in range(count)})
    assert tuple(len(splits[split]) for split in ("train", "selection", "test")) == sizes


CHILD = """
import json, sys
from pathlib import Path
from skillopt_cli.benchmarks.swebench.prepare import prepare
from skillopt_cli.core.errors import DataError

for case in json.load(sys.stdin):
    manifest = Path(case["manifest"]) if case["manifest"] else None
    try:
        outcome = dict(prepare(Path(case["folder"]), manifest, dataset=case["dataset"]))
    except DataError as error:
        outcome = error.message
    print("OUTCOME " + json.dumps(outcome))
"""


def fault(key: str, repo: str, **more: Any) -> dict[str, Any]:
    return {
        "instance_id": key,
        "repo": repo,
        "base_commit": "1" * 40,
        "problem_statement": f"It fails ({key}).",
        "patch": "p",
        "test_patch": f"--- a/{key}\n+++ b/{key}\n",
        "FAIL_TO_PASS": '["t.py::a"]',
        "PASS_TO_PASS": "[]",
        "version": "1.0",
        "hints_text": "dropped",
    } | more


def test_instances_are_prepared(tmp_path: Path) -> None:
    if importlib.util.find_spec("datasets") is None:
        pytest.skip("the extra [data] is not installed")
    rows = [fault(f"r-{n}", "o/r") for n in range(10)] + [fault("s-0", "o/s")]
    write_lines(tmp_path / "hub" / "test.jsonl", rows)
    write_lines(tmp_path / "bad" / "test.jsonl", [fault("r-0", "o/r", patch=" ")] * 1 + rows[1:])
    one = [{"instance_id": "r-3"}], [{"instance_id": "r-1"}], [{"instance_id": "s-0"}]
    ids = manifest(tmp_path / "ids", *one)
    absent = manifest(tmp_path / "absent", *one[:2], [{"instance_id": "x"}])
    cases = [("hub", None), ("hub", ids), ("hub", absent), ("bad", None)]
    sent = [
        {
            "folder": str(tmp_path / f"out{n}" / "swebench"),
            "manifest": str(names) if names else None,
            "dataset": str(tmp_path / hub),
        }
        for n, (hub, names) in enumerate(cases)
    ]
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(sent),
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("OUTCOME ")]
    results = [json.loads(line.split(" ", 1)[1]) for line in lines]
    assert results[0] == {"train": 2, "selection": 1, "test": 8}
    assert results[1] == {"train": 1, "selection": 1, "test": 1}
    assert "lacks 1 of the 3 wanted ids: `x`" in results[2]
    assert results[3] == "the record `r-0` has no usable `patch`"
    benchmark = SWE.open(BenchmarkRequest(data_root=tmp_path / "out0"))
    kinds = Counter(task.kind for task in benchmark.tasks("test"))
    assert kinds == {"o/r": 7, "o/s": 1}
    benchmark = SWE.open(BenchmarkRequest(data_root=tmp_path / "out1"))
    assert [task.id for task in benchmark.tasks("train")] == ["r-3"]
    items = json.loads((tmp_path / "out1" / "swebench" / "train" / "items.json").read_text())
    assert "hints_text" not in items[0]
    with pytest.raises(DataError, match="holds an id and nothing else"):
        SWE.open(BenchmarkRequest(split_dir=ids))
