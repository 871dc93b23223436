"""Download BabyVision: the items an id manifest names, or all of them, cut with a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.babyvision.tasks import (
    BLANKS,
    Numbering,
    counted,
    identifier,
    read_task,
)
from skillopt_cli.benchmarks.kit.hub import load_hub, pictured, save_picture
from skillopt_cli.benchmarks.kit.prepare import Source, prepare_splits
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.core.task import Split, Task

DATASET = "UnipatAI/BabyVision"
FIELDS = ("taskId", "question", "image", "ansType", "choiceAns", "blankAns")


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Write BabyVision's splits and pictures into `folder`; see `kit.prepare.prepare_splits`.

    Args:
        manifest: its records hold a `taskId` or `id`; None cuts all usable items 2:1:7 with seed
            42.
        dataset: name on the hub, or a local folder of the same layout.
    """
    numbering = Numbering()

    def records() -> Iterator[Record]:
        return pictured(load_hub(dataset, FIELDS, benchmark="babyvision"), dataset)

    source = Source(
        dataset,
        records,
        lambda record: read_task(record, numbering),
        identifier,
        about=lambda: {"choice_numbers": numbering.note},
    )

    def document(task: Task) -> Mapping[str, Any]:
        return _document(counted(task, numbering.base), folder / "images")

    return prepare_splits(folder, manifest, source, document)


def _document(task: Task, images: Path) -> dict[str, Any]:
    data = task.data
    choices, right = data["choices"], data["right"]
    answer: dict[str, Any] = (
        {"ansType": "blank", "blankAns": data["answer"].split(BLANKS)}
        if right is None
        else {"ansType": "choice", "options": choices, "choiceAns": choices[right]}
    )
    image = save_picture(images, task.id, data["image"])
    return {
        "taskId": task.id,
        "subtype": task.kind,
        "question": data["question"],
        "image": f"../images/{image}",
        **answer,
    }
