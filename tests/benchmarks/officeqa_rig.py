"""Small OfficeQA data for its tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from task_files import write_splits

from skillopt_cli.benchmarks.officeqa import SPEC, OfficeQA
from skillopt_cli.core.task import Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest


def row(name: str, **more: Any) -> dict[str, Any]:
    return {
        "uid": name,
        "question": f"What is {name}?",
        "ground_truth": f"1,20{len(name)}",
        "category": "easy",
        "source_files": ["a.txt"],
        "source_docs": [],
    } | more


def laid(folder: Path, first: dict[str, Any] | None = None, **options: Any) -> OfficeQA:
    """The benchmark over three tasks and two documents."""
    docs = folder / "docs"
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "a.txt").write_text("alpha\nbeta 1,201\n", encoding="utf-8")
    (docs / "b.txt").write_text("gamma\n", encoding="utf-8")
    write_splits(folder, [first or row("a")], [row("bb")], [row("ccc")])
    opened = SPEC.open(BenchmarkRequest(split_dir=folder, data_root=folder / "d", options=options))
    assert isinstance(opened, OfficeQA)
    return opened


def first_task(benchmark: Benchmark) -> Task:
    return benchmark.tasks("train")[0]


PARSED = {
    "document": {
        "elements": [
            {"content": "Title", "bbox": [{"page_id": 3}]},
            {"content": "<table><tr><td>x</td><td>1</td></tr></table>", "bbox": [{"page_id": 3}]},
            {"content": "other page", "bbox": [{"page_id": 4}]},
            {"content": None, "bbox": [{"page_id": 3}]},
            {"content": "nowhere"},
        ]
    }
}
