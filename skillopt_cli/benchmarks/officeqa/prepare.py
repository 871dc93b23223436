"""Download OfficeQA: its questions, and the documents they are about."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from skillopt_cli.benchmarks.document_roots import FOLDER
from skillopt_cli.benchmarks.hub import hub_files
from skillopt_cli.benchmarks.officeqa.items import Item, identify, read_item
from skillopt_cli.benchmarks.prepared import (
    draw,
    gather,
    origin,
    pick,
    read_manifest,
    single,
    write_splits,
)
from skillopt_cli.benchmarks.records import read_records
from skillopt_cli.benchmarks.splits import MANIFEST
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Split

DATASET = "databricks/officeqa"
QUESTIONS = "officeqa_full.csv"
COUNTS: Mapping[Split, int] = {"train": 50, "selection": 24, "test": 172}


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Fill `folder` with train|val|test/items.json and docs/; its split_manifest.json comes last.

    The data set is gated: its terms are accepted on the hub, and HF_TOKEN is a token of that
    account.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold a `uid` or `id` each;
            None draws 50, 24 and 172 questions with seed 42.
        dataset: name on the hub, or a local folder of the same files.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: the hub fails, ids do not fit, or a document is missing.
    """
    wanted = read_manifest(manifest, identify) if manifest else None
    files = hub_files(dataset, QUESTIONS, benchmark="officeqa")
    found = gather((record for path in files for record in read_records(path)), read_item)
    ids = wanted or draw(single(found.items), COUNTS)
    parts = pick(ids, found.items, dataset)
    (folder / MANIFEST).unlink(missing_ok=True)  # until the documents are whole, the data is not
    _fetch_documents(folder / FOLDER, [item for part in parts.values() for item in part], dataset)
    items = {split: [item.document() for item in part] for split, part in parts.items()}
    return write_splits(folder, items, origin(dataset, manifest))


def _fetch_documents(folder: Path, items: Iterable[Item], dataset: str) -> None:
    """Copy the documents of the items, and their parsed pages, each set replaced as a whole."""
    named = list(items)
    texts = {file for item in named for file in item.files}
    every = any(not item.files for item in named)
    parsed = {f"{PurePosixPath(file).stem}.json" for item in named for file, _ in item.pages}
    shutil.rmtree(folder, ignore_errors=True)
    _copy(folder / "transformed", hub_files(dataset, "*.txt", benchmark="officeqa"), texts, every)
    absent = sorted(name for name in texts if not (folder / "transformed" / name).is_file())
    if absent:
        shown = ", ".join(f"`{name}`" for name in absent[:3]) + (", ..." if absent[3:] else "")
        raise DataError(f"`{dataset}` lacks {len(absent)} of its documents: {shown}")
    if parsed:
        _copy(folder / "jsons", hub_files(dataset, "*.json", benchmark="officeqa"), parsed)


def _copy(folder: Path, paths: Iterable[Path], names: set[str], every: bool = False) -> None:
    folder.mkdir(parents=True)
    for path in paths:
        if every or path.name in names:
            shutil.copyfile(path, folder / path.name)
