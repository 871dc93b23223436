"""Download MMRB: the questions an id manifest names, or all usable ones, cut with a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.choice import LETTERS
from skillopt_cli.benchmarks.hub import hub_files
from skillopt_cli.benchmarks.hub_pictures import save_picture
from skillopt_cli.benchmarks.mmrb.items import Item, identifier, read_item
from skillopt_cli.benchmarks.prepared import (
    SEED,
    draw_by_ratio,
    pick,
    read_manifest,
    write_splits,
)
from skillopt_cli.benchmarks.records import LeftOut, Record, read_records
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Split

DATASET = "HarrytheOrange/MMRB"
FILES = "*_human.json"
_ABOVE = 3

Found = tuple[Record, Item]


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Fill `folder` with images/ and train|val|test/items.json; split_manifest.json comes last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold source, subtask and
            index, or an `id` such as "muirbench:Ordering:3"; None cuts all questions 2:1:7 with
            seed 42.
        dataset: name on the hub, or a folder with the unpacked release.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: `datasets` is not installed, the hub fails, or files, ids or pictures do not fit.
    """
    wanted = read_manifest(manifest, identifier) if manifest else None
    left_out: Counter[str] = Counter()
    found: dict[str, list[Found]] = {}
    for path in _release(dataset):
        for record in read_records(path):
            try:
                item = read_item(record)
            except LeftOut as reason:
                left_out[reason.why] += 1
            else:
                found.setdefault(item.id, []).append((record, item))
    ids = wanted or draw_by_ratio(key for key, items in found.items() if len(items) == 1)
    about = {
        "source_dataset": dataset,
        "source_manifest_dir": str(manifest) if manifest else None,
        "split_seed": None if manifest else SEED,
        "left_out": dict(left_out),
    }
    items = {
        split: (_document(*one, folder / "images") for one in part)
        for split, part in pick(ids, found, dataset).items()
    }
    return write_splits(folder, items, about)


def _release(dataset: str) -> Sequence[Path]:
    files = hub_files(dataset, "*", benchmark="mmrb")
    named = [path for path in files if fnmatch(path.name, FILES)]
    if not named:
        raise DataError(
            f"the data set `{dataset}` has no file `{FILES}`",
            "unpack the release into a folder and name it with env.data_path",
        )
    return named


def _document(record: Record, item: Item, images: Path) -> dict[str, Any]:
    names = [
        save_picture(images, f"{item.id}:{n}", str(_place(record, name)))
        for n, name in enumerate(item.images, 1)
    ]
    options = [f"{LETTERS[i]}. {text}" for i, text in enumerate(item.choices)]
    return {
        "id": item.id,
        "subtask": item.kind,
        "question": item.question,
        "question_type": "multi-choice" if item.lettered else "open",
        "options": options,
        "answer": item.answer,
        "image_paths": [f"../images/{name}" for name in names],
    }


def _place(record: Record, name: str) -> Path:
    """Where a picture lies: from the file that names it, or from a folder or two above."""
    places = (folder / name for folder in record.path.parents[:_ABOVE])
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise record.fault(f"the picture `{name}` is not there")
    return path
