"""Download MathVerse: the problems an id manifest names, or all of one version, cut with a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.choice import LETTERS
from skillopt_cli.benchmarks.hub import load_hub
from skillopt_cli.benchmarks.hub_pictures import has_picture, save_picture, undecoded
from skillopt_cli.benchmarks.mathverse.items import Item, identifier, read_item
from skillopt_cli.benchmarks.prepared import (
    SEED,
    draw_by_ratio,
    pick,
    read_manifest,
    write_splits,
)
from skillopt_cli.benchmarks.records import LeftOut, Record
from skillopt_cli.core.task import Split

DATASET = "AI4Math/MathVerse"
CONFIG = "testmini"
FIELDS = ("problem_index", "problem_version", "question", "image", "answer", "question_type")
VERSION = "Text Lite"


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Fill `folder` with images/ and train|val|test/items.json; split_manifest.json comes last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold a `problem_index` or
            `id`; None cuts all problems of the version "Text Lite" 2:1:7 with seed 42.
        dataset: name on the hub, or a local folder of the same layout.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: `datasets` is not installed, the hub fails, or ids or fields do not fit.
    """
    wanted = read_manifest(manifest, identifier) if manifest else None
    left_out: Counter[str] = Counter()
    found: dict[str, list[Item]] = {}
    for name, rows in load_hub(dataset, FIELDS, config=CONFIG, benchmark="mathverse").items():
        for number, row in enumerate(undecoded(rows, "image"), 1):
            image = row["image"] if has_picture(row["image"]) else None
            record = Record({**row, "image": image}, Path(f"{dataset}/{name}.json"), number)
            try:
                item = read_item(record, VERSION)
            except LeftOut as reason:
                left_out[reason.why] += 1
            else:
                found.setdefault(item.id, []).append(item)
    ids = wanted or draw_by_ratio(key for key, items in found.items() if len(items) == 1)
    about = {
        "source_dataset": dataset,
        "source_manifest_dir": str(manifest) if manifest else None,
        "split_seed": None if manifest else SEED,
        "problem_version": VERSION,
        "left_out": dict(left_out),
    }
    items = {
        split: (_document(item, folder / "images") for item in part)
        for split, part in pick(ids, found, dataset).items()
    }
    return write_splits(folder, items, about)


def _document(item: Item, images: Path) -> dict[str, Any]:
    image = save_picture(images, item.id, item.image)
    options = "\n".join(f"{LETTERS[i]}:{text}" for i, text in enumerate(item.choices))
    question = f"{item.question}\nChoices:\n{options}" if options else item.question
    return {
        "problem_index": item.id,
        "problem_version": VERSION,
        "question": question,
        "question_type": "multi-choice" if options else "free-form",
        "answer": item.answer if item.right is None else LETTERS[item.right],
        "image": f"../images/{image}",
        "metadata": {"subject": item.kind},
    }
