"""Preparing OfficeQA from a local copy of its layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from officeqa_rig import PARSED, first_task
from task_files import write_json, write_lines, write_splits

from skillopt_cli.benchmarks.officeqa import SPEC
from skillopt_cli.core.errors import DataError
from skillopt_cli.ports import BenchmarkRequest


def stand_in(folder: Path, without: str = "") -> Path:
    """The data set's layout: a CSV file, parsed texts and their JSON."""
    lines = ["uid,question,answer,difficulty,source_files,source_docs"]
    lines += [
        f"U{n},What is {n}?,{n}00,easy,d{n % 3}.txt,https://x.org/{n}?page={n}" for n in range(246)
    ]
    folder.mkdir(parents=True)
    (folder / "officeqa_full.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    parsed = folder / "treasury_bulletins_parsed"
    for name in ("d0", "d1", "d2", "unused"):
        if name != without:
            write_json(parsed / "transformed" / f"{name}.txt", name)
        write_json(parsed / "jsons" / f"{name}.json", PARSED)
    return folder


def test_the_full_data_is_cut_and_comes_with_its_documents(tmp_path: Path) -> None:
    assert SPEC.prepare is not None
    dataset = stand_in(tmp_path / "hub")
    counts = prepare_from(dataset, tmp_path / "data" / "officeqa")
    assert counts == {"train": 50, "selection": 24, "test": 172}
    assert counts == SPEC.sizes
    docs = tmp_path / "data" / "officeqa" / "docs"
    assert sorted(p.name for p in (docs / "transformed").iterdir()) == [
        "d0.txt",
        "d1.txt",
        "d2.txt",
    ]
    opened = SPEC.open(BenchmarkRequest(data_root=tmp_path / "data"))
    task = first_task(opened)
    assert list(task.data["documents"]) == [f"docs/d{int(task.id[1:]) % 3}.txt"]
    assert task.data["pages"]
    again = prepare_from(dataset, tmp_path / "data" / "officeqa")
    assert again == counts


def prepare_from(dataset: Path, folder: Path, manifest: Path | None = None) -> Any:
    from skillopt_cli.benchmarks.officeqa.prepare import prepare

    return prepare(folder, manifest, dataset=str(dataset))


def test_a_manifest_says_which(tmp_path: Path) -> None:
    ids = [[{"uid": f"U{n}", "category": "easy"} for n in part] for part in ((3, 1), (7,), (5, 9))]
    manifest = write_splits(tmp_path / "ids", *ids)
    counts = prepare_from(stand_in(tmp_path / "hub"), tmp_path / "o", manifest)
    assert counts == {"train": 2, "selection": 1, "test": 2}
    items = json.loads((tmp_path / "o" / "train" / "items.json").read_text(encoding="utf-8"))
    assert [item["uid"] for item in items] == ["U3", "U1"]
    assert items[0]["ground_truth"] == "300"


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    ids = [[{"uid": name}] for name in ("U1", "U2", "U999")]
    hub = stand_in(tmp_path / "hub")
    with pytest.raises(DataError, match="lacks 1 of the 3 wanted ids: `U999`"):
        prepare_from(hub, tmp_path / "o", write_splits(tmp_path / "ids", *ids))
    with pytest.raises(DataError, match=r"lacks 1 of its documents: `d1\.txt`"):
        prepare_from(stand_in(tmp_path / "other", without="d1"), tmp_path / "o")
    with pytest.raises(DataError, match="has no file `officeqa_full"):
        prepare_from(write_lines(tmp_path / "no" / "x.jsonl", []).parent, tmp_path / "o")
    assert not (tmp_path / "o" / "split_manifest.json").exists()
