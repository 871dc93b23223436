"""Download DocVQA: the questions an id manifest names, or a seeded tenth of the validation set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_cli.benchmarks.docvqa.tasks import identifier, read_task
from skillopt_cli.benchmarks.kit.hub import load_hub, save_picture, undecoded
from skillopt_cli.benchmarks.kit.prepare import draw, origin, pick, read_manifest, write_splits
from skillopt_cli.benchmarks.kit.records import LeftOut, Record
from skillopt_cli.core.task import Split, Task

if TYPE_CHECKING:
    from datasets import Dataset

DATASET = "lmms-lab/DocVQA"
FILES = "validation-*.parquet"
"""Only these are fetched: the whole data set has 10 GB."""
FIELDS = ("questionId", "question", "question_types", "image", "docId", "answers")
MORE = ("docId", "ucsf_document_id", "ucsf_document_page_no")
COUNTS: Mapping[Split, int] = {"train": 107, "selection": 53, "test": 374}
Named = Mapping[str, Any]
"""A record of an id manifest."""


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Write DocVQA's splits and pages into `folder`; see `kit.prepare.prepare_splits`.

    Args:
        manifest: its records hold a `questionId` or `id`; file names in their `image_path` and
            their `topic` are kept. None draws 107, 53 and 374 questions with seed 42.
        dataset: name on the hub, or a local folder of the same layout.
    """
    named: dict[str, Named] = {}

    def identify(record: Record) -> str:
        key = identifier(record)
        named[key] = record.data
        return key

    wanted = read_manifest(manifest, identify) if manifest else None
    rows = load_hub(dataset, FIELDS, files=FILES, benchmark="docvqa")["train"]
    at: dict[str, list[int]] = {}
    first: dict[tuple[str, Any], str] = {}
    for row, doc, task in _tasks(rows, dataset):
        at.setdefault(task.id, []).append(row)
        first.setdefault((task.data["question"].casefold(), doc), task.id)
    # A page may have been asked the same thing twice.
    once = (key for key in dict.fromkeys(first.values()) if len(at[key]) == 1)
    ids = wanted or draw(once, COUNTS)
    about = {
        **origin(dataset, manifest),
        "source_files": FILES,
    }
    pages = undecoded(rows, "image")
    items = {
        split: (_document(pages[row], named, folder / "images") for row in part)
        for split, part in pick(ids, at, dataset).items()
    }
    return write_splits(folder, items, about)


def _tasks(rows: Dataset, dataset: str) -> Iterator[tuple[int, Any, Task]]:
    """Row, document and task of each question with an answer; pages are not read."""
    place = Path(f"{dataset}/{FILES}.json")
    for row, data in enumerate(rows.remove_columns("image")):
        try:
            task = read_task(Record(data, place, row + 1))
        except LeftOut:
            continue
        yield row, data["docId"], task


def _document(row: Mapping[str, Any], named: Mapping[str, Named], images: Path) -> dict[str, Any]:
    data = {key: value for key, value in row.items() if key != "image"}
    task = read_task(Record(data, images, 0))
    known = named.get(task.id, {})
    name = Path(str(known.get("image_path") or f"q{task.id}_d{row['docId']}")).stem
    image = save_picture(images, name, row["image"])
    return {
        "questionId": task.id,
        "question": task.data["question"],
        "answers": task.data["answers"],
        "image_path": f"../images/{image}",
        "topic": str(known.get("topic") or task.kind),
        **{key: row[key] for key in MORE if key in row},
    }
