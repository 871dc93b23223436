"""Download DocVQA: the questions an id manifest names, or a seeded tenth of the validation set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_cli.benchmarks.docvqa.items import Item, identifier, read_item
from skillopt_cli.benchmarks.hub import load_hub_files
from skillopt_cli.benchmarks.hub_pictures import save_picture, undecoded
from skillopt_cli.benchmarks.prepared import draw, origin, pick, read_manifest, write_splits
from skillopt_cli.benchmarks.records import LeftOut, Record
from skillopt_cli.core.task import Split

if TYPE_CHECKING:
    from datasets import Dataset

DATASET = "lmms-lab/DocVQA"
FILES = "validation-*.parquet"
"""Only these are fetched: the whole data set has 10 GB."""
FIELDS = ("questionId", "question", "question_types", "image", "docId", "answers")
MORE = ("docId", "ucsf_document_id", "ucsf_document_page_no")
COUNTS: Mapping[Split, int] = {"train": 107, "selection": 53, "test": 374}
Told = Mapping[str, Any]
"""What a record of an id manifest says beside its id."""


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Fill `folder` with images/ and train|val|test/items.json; split_manifest.json comes last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold a `questionId` or `id`;
            file names in their `image_path` and their `topic` are kept. None draws 107, 53 and 374
            questions with seed 42.
        dataset: name on the hub, or a local folder of the same layout.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: `datasets` is not installed, the hub fails, or ids or fields do not fit.
    """
    told: dict[str, Told] = {}

    def identify(record: Record) -> str:
        key = identifier(record)
        told[key] = record.data
        return key

    wanted = read_manifest(manifest, identify) if manifest else None
    rows = load_hub_files(dataset, FILES, FIELDS, benchmark="docvqa")
    at: dict[str, list[int]] = {}
    first: dict[tuple[str, Any], str] = {}
    for row, doc, item in _items(rows, dataset):
        at.setdefault(item.id, []).append(row)
        first.setdefault((item.question.casefold(), doc), item.id)
    # A page may have been asked the same thing twice.
    once = (key for key in dict.fromkeys(first.values()) if len(at[key]) == 1)
    ids = wanted or draw(once, COUNTS)
    about = {
        **origin(dataset, manifest),
        "source_files": FILES,
    }
    pages = undecoded(rows, "image")
    items = {
        split: (_document(pages[row], told, folder / "images") for row in part)
        for split, part in pick(ids, at, dataset).items()
    }
    return write_splits(folder, items, about)


def _items(rows: Dataset, dataset: str) -> Iterator[tuple[int, Any, Item]]:
    """Row, document and item of each question with an answer; pages are not read."""
    place = Path(f"{dataset}/{FILES}.json")
    for row, data in enumerate(rows.remove_columns("image")):
        try:
            item = read_item(Record(data, place, row + 1))
        except LeftOut:
            continue
        yield row, data["docId"], item


def _document(row: Mapping[str, Any], told: Mapping[str, Told], images: Path) -> dict[str, Any]:
    data = {key: value for key, value in row.items() if key != "image"}
    item = read_item(Record(data, images, 0))
    known = told.get(item.id, {})
    name = Path(str(known.get("image_path") or f"q{item.id}_d{row['docId']}")).stem
    image = save_picture(images, name, row["image"])
    return {
        "questionId": item.id,
        "question": item.question,
        "answers": list(item.answers),
        "image_path": f"../images/{image}",
        "topic": str(known.get("topic") or item.kind),
        **{key: row[key] for key in MORE if key in row},
    }
