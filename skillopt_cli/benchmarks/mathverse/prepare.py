"""Download MathVerse: the problems an id manifest names, or all of one version, cut with a seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.choice import LETTERS
from skillopt_cli.benchmarks.hub import load_hub
from skillopt_cli.benchmarks.hub_pictures import pictured, save_picture
from skillopt_cli.benchmarks.mathverse.items import identifier, read_item
from skillopt_cli.benchmarks.picture_items import PictureItem
from skillopt_cli.benchmarks.prepared import (
    draw_by_ratio,
    gather,
    origin,
    pick,
    read_manifest,
    single,
    write_splits,
)
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
    rows = load_hub(dataset, FIELDS, config=CONFIG, benchmark="mathverse")
    found = gather(pictured(rows, dataset), lambda record: read_item(record, VERSION))
    ids = wanted or draw_by_ratio(single(found.items))
    about = {
        **origin(dataset, manifest),
        "problem_version": VERSION,
        "left_out": dict(found.left_out),
    }
    items = {
        split: (_document(item, folder / "images") for item in part)
        for split, part in pick(ids, found.items, dataset).items()
    }
    return write_splits(folder, items, about)


def _document(item: PictureItem, images: Path) -> dict[str, Any]:
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
