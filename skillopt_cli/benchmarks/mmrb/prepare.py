"""Download MMRB: the questions an id manifest names, or all usable ones, cut with a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.kit.choices import LETTERS
from skillopt_cli.benchmarks.kit.hub import hub_files, save_picture
from skillopt_cli.benchmarks.kit.prepare import Source, prepare_splits
from skillopt_cli.benchmarks.kit.records import Record, read_records
from skillopt_cli.benchmarks.mmrb.tasks import identifier, read_task
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Split, Task

DATASET = "HarrytheOrange/MMRB"
FILES = "*_human.json"
_ABOVE = 3


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Write MMRB's splits and pictures into `folder`; see `kit.prepare.prepare_splits`.

    Args:
        manifest: its records hold source, subtask and index, or an `id` such as
            "muirbench:Ordering:3"; None cuts all questions 2:1:7 with seed 42.
        dataset: name on the hub, or a folder with the unpacked release.
    """

    def records() -> Iterator[Record]:
        return (record for path in _release(dataset) for record in read_records(path))

    def read(record: Record) -> Task:
        """A task, with the record whose file its pictures lie beside."""
        task = read_task(record)
        return replace(task, data={**task.data, "record": record})

    source = Source(dataset, records, read, identifier)
    return prepare_splits(folder, manifest, source, lambda task: _document(task, folder / "images"))


def _release(dataset: str) -> Sequence[Path]:
    files = hub_files(dataset, "*", benchmark="mmrb")
    named = [path for path in files if fnmatch(path.name, FILES)]
    if not named:
        raise DataError(
            f"the data set `{dataset}` has no file `{FILES}`",
            "unpack the release into a folder and name it with env.data_path",
        )
    return named


def _document(task: Task, images: Path) -> dict[str, Any]:
    data = task.data
    names = [
        save_picture(images, f"{task.id}:{n}", str(_place(data["record"], name)))
        for n, name in enumerate(data["images"], 1)
    ]
    return {
        "id": task.id,
        "subtask": task.kind,
        "question": data["question"],
        "question_type": "multi-choice" if data["lettered"] else "open",
        "options": [f"{LETTERS[i]}. {text}" for i, text in enumerate(data["choices"])],
        "answer": data["answer"],
        "image_paths": [f"../images/{name}" for name in names],
    }


def _place(record: Record, name: str) -> Path:
    """Where a picture lies: from the file that names it, or from a folder or two above."""
    places = (folder / name for folder in record.path.parents[:_ABOVE])
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise record.fault(f"the picture `{name}` is not there")
    return path
