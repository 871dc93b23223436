"""Download MathVerse: the problems an id manifest names, or all of one version, cut with a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.kit.choices import LETTERS
from skillopt_cli.benchmarks.kit.hub import load_hub, pictured, save_picture
from skillopt_cli.benchmarks.kit.prepare import Source, prepare_splits
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.mathverse.tasks import identifier, read_task
from skillopt_cli.core.task import Split, Task

DATASET = "AI4Math/MathVerse"
CONFIG = "testmini"
FIELDS = ("problem_index", "problem_version", "question", "image", "answer", "question_type")
VERSION = "Text Lite"


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Write MathVerse's splits and pictures into `folder`; see `kit.prepare.prepare_splits`.

    Args:
        manifest: its records hold a `problem_index` or `id`; None cuts all problems of the version
            "Text Lite" 2:1:7 with seed 42.
        dataset: name on the hub, or a local folder of the same layout.
    """

    def records() -> Iterator[Record]:
        rows = load_hub(dataset, FIELDS, config=CONFIG, benchmark="mathverse")
        return pictured(rows, dataset)

    source = Source(
        dataset,
        records,
        lambda record: read_task(record, VERSION),
        identifier,
        about=lambda: {"problem_version": VERSION},
    )
    return prepare_splits(folder, manifest, source, lambda task: _document(task, folder / "images"))


def _document(task: Task, images: Path) -> dict[str, Any]:
    data = task.data
    image = save_picture(images, task.id, data["image"])
    options = "\n".join(f"{LETTERS[i]}:{text}" for i, text in enumerate(data["choices"]))
    question = f"{data['question']}\nChoices:\n{options}" if options else data["question"]
    return {
        "problem_index": task.id,
        "problem_version": VERSION,
        "question": question,
        "question_type": "multi-choice" if options else "free-form",
        "answer": data["answer"] if data["right"] is None else LETTERS[data["right"]],
        "image": f"../images/{image}",
        "metadata": {"subject": task.kind},
    }
