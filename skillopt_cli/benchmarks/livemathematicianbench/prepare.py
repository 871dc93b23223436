"""Download LiveMathematicianBench: the items an id manifest names, or a seeded selection."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillopt_cli.benchmarks.hub import hub_files
from skillopt_cli.benchmarks.livemathematicianbench.items import FILES, read_item
from skillopt_cli.benchmarks.prepared import (
    draw,
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

DATASET = "LiveMathematicianBench/LiveMathematicianBench"
COUNTS: Mapping[Split, int] = {"train": 35, "selection": 17, "test": 125}


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Fill `folder` with train|val|test/items.json; its split_manifest.json is written last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold an `id`, or `month` and
            `no`; None draws 35, 17 and 125 items with seed 42.
        dataset: name on the hub, or a local folder of its monthly files.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: the hub fails, or ids do not fit.
    """
    wanted = read_manifest(manifest, _identify) if manifest else None
    files = hub_files(dataset, FILES, benchmark="livemathematicianbench")
    found = gather((record for path in files for record in read_records(path)), read_item)
    ids = wanted or draw(single(found.items), COUNTS)
    about = {
        **origin(dataset, manifest),
        "left_out": dict(found.left_out),
    }
    items = {
        split: [item.document() for item in part]
        for split, part in pick(ids, found.items, dataset).items()
    }
    return write_splits(folder, items, about)


def _identify(record: Record) -> str:
    data = record.data
    if data.get("id") is None and (data.get("month") is None or data.get("no") is None):
        raise DataError(f"{record.place}: `id` is missing", "or give `month` and `no`")
    return record.identifier() if data.get("id") is not None else f"{data['month']}:{data['no']}"
