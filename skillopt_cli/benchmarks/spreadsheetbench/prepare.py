"""Download SpreadsheetBench: the verified 400 tasks with their workbooks."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from skillopt_cli.benchmarks.kit.hub import hub_files
from skillopt_cli.benchmarks.kit.prepare import Source, prepare_splits
from skillopt_cli.benchmarks.kit.records import Record, read_records, text_of
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.formatting import safe_name
from skillopt_cli.core.task import Split, Task

DATASET = "KAKA22/SpreadsheetBench"
ARCHIVE = "spreadsheetbench_verified_400.tar.gz"
COUNTS: Mapping[Split, int] = {"train": 80, "selection": 40, "test": 280}
ITEM_FIELDS = ("id", "instruction", "instruction_type", "answer_position", "answer_sheet")
WORKBOOKS = "spreadsheet"


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Write SpreadsheetBench's splits and workbooks into `folder`; see `prepare_splits`.

    Args:
        manifest: its records hold an `id`; None draws 80, 40 and 280 records with seed 42.
        dataset: name on the hub, or a local folder that holds the archive.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".unpacked-", dir=folder) as unpacked:

        def records() -> Iterator[Record]:
            archive = hub_files(dataset, ARCHIVE, benchmark="spreadsheetbench")[0]
            return read_records(_unpacked(archive, Path(unpacked)))

        about = {"source_archive": ARCHIVE, "item_fields": [*ITEM_FIELDS, "spreadsheet_path"]}
        source = Source(
            dataset,
            records,
            lambda record: Task(record.identifier(), "workbook", {"record": record}),
            counts=COUNTS,
            about=lambda: about,
            fetch=lambda chosen: shutil.rmtree(folder / WORKBOOKS, ignore_errors=True),
        )
        return prepare_splits(folder, manifest, source, lambda task: _document(task, folder))


def _unpacked(archive: Path, into: Path) -> Path:
    """The unpacked dataset.json and its workbooks; links and paths that lead out are refused."""
    try:
        with tarfile.open(archive) as packed:
            packed.extractall(into, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise DataError(f"{archive} cannot be unpacked: {error}") from error
    found = sorted(into.rglob("dataset.json"))
    if not found:
        raise DataError(f"{archive} holds no dataset.json")
    return found[0]


def _document(task: Task, folder: Path) -> dict[str, Any]:
    """A record as it is written; its workbooks, which lie beside it, are copied into `folder`."""
    identifier, record = task.id, task.data["record"]
    data = record.data
    for field in ITEM_FIELDS[1:4]:
        if not text_of(data.get(field)):
            raise DataError(f"the record `{identifier}` has no usable `{field}`")
    place = str(data.get("spreadsheet_path") or f"{WORKBOOKS}/{identifier}").lstrip("/")
    source = record.path.parent / place
    if ".." in PurePosixPath(place).parts or not source.is_dir():
        raise DataError(f"the record `{identifier}` has no folder `{place}` in {ARCHIVE}")
    kept = f"{WORKBOOKS}/{safe_name(identifier)}"
    shutil.copytree(source, folder / kept)
    item = {field: data[field] for field in ITEM_FIELDS if data.get(field)}
    return {**item, "id": identifier, "spreadsheet_path": kept}
