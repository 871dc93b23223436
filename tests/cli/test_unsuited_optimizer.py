"""`data check` and `plan` warn beforehand where the optimizer cannot learn from the tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import skillopt

TOLD = (
    "`rules` can hardly help: the references of 24 of 24 train tasks do not occur in their texts,"
    " and they are no label set"
)


def written(*, labels: bool) -> str:
    for split in ("train", "selection", "test"):
        folder = Path("tasks") / split
        folder.mkdir(parents=True)
        rows = [
            {
                "id": f"{split}-{n}",
                "question": f"What comes of {split} {n}?",
                "answer": ("good", "bad")[n % 2] if labels else f"{split}ing number {n * n + 7}",
            }
            for n in range(24)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "tasks.jsonl").write_text(text, encoding="utf-8")
    config = "env:\n  name: folder\n  split_dir: tasks\nmodel:\n  backend: simulated\n"
    Path("c.yaml").write_text(f"{config}  optimizer:\n    backend: rules\n", encoding="utf-8")
    return "c.yaml"


@pytest.mark.parametrize("labels", [False, True])
def test_both_commands_warn_and_neither_does_for_labels(labels: bool) -> None:
    config = written(labels=labels)
    checked = skillopt("data", "check", "folder", "--config", config)
    assert checked.code == 0
    assert (f"warning: {TOLD}" in checked.out) is not labels
    planned = skillopt("plan", "--config", config)
    assert planned.code == 0
    assert (f"Warning: {TOLD}" in planned.out) is not labels


def test_another_optimizer_is_not_warned_of() -> None:
    config = written(labels=False)
    text = Path(config).read_text(encoding="utf-8").replace("backend: rules", "backend: simulated")
    Path(config).write_text(text, encoding="utf-8")
    assert "hardly help" not in skillopt("data", "check", "folder", "--config", config).out
