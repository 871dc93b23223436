"""Tasks and prompts of the bundled samples stay as they were, so that runs on them compare."""

from __future__ import annotations

import hashlib
import json

import pytest

from skillopt_cli.core.task import SPLITS
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.ports import BenchmarkRequest

PINNED = {
    "alfworld": "9e85ed731d53e112",
    "babyvision": "f5e8090236ae5727",
    "docvqa": "d01d8d72fabaf153",
    "livemathematicianbench": "164c1825a23ae443",
    "mathverse": "ae003e6467e9c42b",
    "mmrb": "73a0b14eb797fe20",
    "officeqa": "a2909a76b8e31faa",
    "sealqa": "a8803594689452d5",
    "searchqa": "823db947c47adc70",
    "spreadsheetbench": "db9fadbf1b251b8d",
    "swebench": "f38a03cdfdebf160",
}


def fingerprint(name: str) -> str:
    """A hash over tasks, prompts and seed skill of a sample."""
    spec = load_benchmark(name)
    if spec.missing():
        pytest.skip(f"{name} needs {spec.missing()}")
    benchmark = spec.open(BenchmarkRequest())
    parts = [benchmark.seed_skill]
    for split in SPLITS:
        for task in benchmark.tasks(split):
            brief = benchmark.brief(task)
            parts += [task.id, task.kind, task.digest, brief.role, brief.prompt]
            parts += [brief.answer_format, *(image.digest for image in brief.images)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", PINNED)
def test_tasks_and_prompts_of_the_sample_do_not_change_unseen(name: str) -> None:
    assert fingerprint(name) == PINNED[name], "raise the version of the benchmark with its prompts"
