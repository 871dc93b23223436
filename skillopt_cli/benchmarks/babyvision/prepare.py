"""Download BabyVision: the items an id manifest names, or all of them, cut with a seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.babyvision.items import BLANKS, Item, identifier, read_item
from skillopt_cli.benchmarks.babyvision.numbering import Numbering
from skillopt_cli.benchmarks.hub import load_hub
from skillopt_cli.benchmarks.hub_pictures import pictured, save_picture
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

DATASET = "UnipatAI/BabyVision"
FIELDS = ("taskId", "question", "image", "ansType", "choiceAns", "blankAns")


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Fill `folder` with images/ and train|val|test/items.json; split_manifest.json comes last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold a `taskId` or `id`; None
            cuts all usable items 2:1:7 with seed 42.
        dataset: name on the hub, or a local folder of the same layout.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: `datasets` is not installed, the hub fails, or ids or fields do not fit.
    """
    wanted = read_manifest(manifest, identifier) if manifest else None
    numbering = Numbering()
    rows = load_hub(dataset, FIELDS, benchmark="babyvision")
    found = gather(pictured(rows, dataset), lambda record: read_item(record, numbering))
    ids = wanted or draw_by_ratio(single(found.items))
    about = {
        **origin(dataset, manifest),
        "choice_numbers": numbering.told,
        "left_out": dict(found.left_out),
    }
    base = numbering.base
    items = {
        split: (_document(item.counted(base), folder / "images") for item in part)
        for split, part in pick(ids, found.items, dataset).items()
    }
    return write_splits(folder, items, about)


def _document(item: Item, images: Path) -> dict[str, Any]:
    choice = bool(item.choices) or item.right is not None
    answer: dict[str, Any] = (
        {"ansType": "choice", "options": list(item.choices), "choiceAns": item.choices[item.right]}
        if choice and item.right is not None
        else {"ansType": "blank", "blankAns": item.answer.split(BLANKS)}
    )
    image = save_picture(images, item.id, item.image)
    return {
        "taskId": item.id,
        "subtype": item.kind,
        "question": item.question,
        "image": f"../images/{image}",
        **answer,
    }
