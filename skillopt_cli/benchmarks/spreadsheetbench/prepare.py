"""Download SpreadsheetBench: the verified 400 tasks with their workbooks."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from skillopt_cli.benchmarks.hub import hub_files
from skillopt_cli.benchmarks.prepared import draw, origin, pick, read_manifest, single, write_splits
from skillopt_cli.benchmarks.splits import MANIFEST
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.names import safe_name
from skillopt_cli.core.task import Split

DATASET = "KAKA22/SpreadsheetBench"
ARCHIVE = "spreadsheetbench_verified_400.tar.gz"
COUNTS: Mapping[Split, int] = {"train": 80, "selection": 40, "test": 280}
ITEM_FIELDS = ("id", "instruction", "instruction_type", "answer_position", "answer_sheet")


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Fill `folder` with train|val|test/items.json and the workbooks under spreadsheet/.

    Its split_manifest.json is written last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold an `id` each; None draws
            80, 40 and 280 records with seed 42.
        dataset: name on the hub, or a local folder that holds the archive.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: the archive cannot be had or read, or ids or fields do not fit.
    """
    wanted = read_manifest(manifest) if manifest else None
    archive = hub_files(dataset, ARCHIVE, benchmark="spreadsheetbench")[0]
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".unpacked-", dir=folder) as name:
        root = _unpacked(archive, Path(name))
        found = _records(root)
        ids = wanted or draw(single(found), COUNTS)
        chosen = pick(ids, found, dataset)
        (folder / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(folder / "spreadsheet", ignore_errors=True)
        items = {
            split: [_item(root, record, folder) for record in records]
            for split, records in chosen.items()
        }
    about = {
        **origin(dataset, manifest),
        "source_archive": ARCHIVE,
        "item_fields": [*ITEM_FIELDS, "spreadsheet_path"],
    }
    return write_splits(folder, items, about)


def _unpacked(archive: Path, into: Path) -> Path:
    """The folder that holds dataset.json, unpacked; links and paths that lead out are refused."""
    try:
        with tarfile.open(archive) as packed:
            packed.extractall(into, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise DataError(f"{archive} cannot be unpacked: {error}") from error
    found = sorted(into.rglob("dataset.json"))
    if not found:
        raise DataError(f"{archive} holds no dataset.json")
    return found[0].parent


def _records(root: Path) -> dict[str, list[Mapping[str, Any]]]:
    path = root / "dataset.json"
    try:
        records = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise DataError(f"{path.name} of {ARCHIVE} is not JSON: {error}") from error
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise DataError(f"{path.name} of {ARCHIVE} is no list of records")
    found: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        found.setdefault(str(record.get("id")), []).append(record)
    return found


def _item(root: Path, record: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A record as it is written; its workbooks are copied into `folder`."""
    for field in ITEM_FIELDS[1:4]:
        if not isinstance(record.get(field), str) or not record[field].strip():
            raise DataError(f"the record `{record['id']}` has no usable `{field}`")
    place = str(record.get("spreadsheet_path") or f"spreadsheet/{record['id']}").lstrip("/")
    if ".." in PurePosixPath(place).parts or not (root / place).is_dir():
        raise DataError(f"the record `{record['id']}` has no folder `{place}` in {ARCHIVE}")
    identifier = str(record["id"])
    kept = f"spreadsheet/{safe_name(identifier)}"
    shutil.copytree(root / place, folder / kept)
    item = {field: record[field] for field in ITEM_FIELDS if record.get(field)}
    return {**item, "id": identifier, "spreadsheet_path": kept}
