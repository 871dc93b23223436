"""Download MMRB: the questions an id manifest names, or all usable ones, cut with a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from skillopt_cli.benchmarks.choice import LETTERS
from skillopt_cli.benchmarks.hub import hub_files
from skillopt_cli.benchmarks.hub_pictures import save_picture
from skillopt_cli.benchmarks.mmrb.items import Item, identifier, read_item
from skillopt_cli.benchmarks.prepared import (
    draw_by_ratio,
    gather,
    origin,
    pick,
    read_manifest,
    single,
    write_splits,
)
from skillopt_cli.benchmarks.records import Record, read_records
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Split

DATASET = "HarrytheOrange/MMRB"
FILES = "*_human.json"
_ABOVE = 3


class _Found(NamedTuple):
    """An item, and the record whose file its pictures lie beside."""

    record: Record
    item: Item

    @property
    def id(self) -> str:
        return self.item.id


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
    records = (record for path in _release(dataset) for record in read_records(path))
    found = gather(records, lambda record: _Found(record, read_item(record)))
    ids = wanted or draw_by_ratio(single(found.items))
    about = {
        **origin(dataset, manifest),
        "left_out": dict(found.left_out),
    }
    items = {
        split: (_document(*one, folder / "images") for one in part)
        for split, part in pick(ids, found.items, dataset).items()
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
