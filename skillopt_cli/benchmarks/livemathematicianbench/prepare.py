"""Download LiveMathematicianBench: the items an id manifest names, or a seeded selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from skillopt_cli.benchmarks.hub import hub_files
from skillopt_cli.benchmarks.livemathematicianbench.items import FILES, Item, read_item
from skillopt_cli.benchmarks.prepared import SEED, draw, pick, read_manifest, write_splits
from skillopt_cli.benchmarks.records import LeftOut, Record, read_records
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
    found: dict[str, list[Item]] = {}
    left_out: Counter[str] = Counter()
    for path in hub_files(dataset, FILES, benchmark="livemathematicianbench"):
        for record in read_records(path):
            try:
                item = read_item(record)
            except LeftOut as reason:
                left_out[reason.why] += 1
            else:
                found.setdefault(item.id, []).append(item)
    ids = wanted or draw((key for key, items in found.items() if len(items) == 1), COUNTS)
    about = {
        "source_dataset": dataset,
        "source_manifest_dir": str(manifest) if manifest else None,
        "split_seed": None if manifest else SEED,
        "left_out": dict(left_out),
    }
    items = {
        split: [item.document() for item in part]
        for split, part in pick(ids, found, dataset).items()
    }
    return write_splits(folder, items, about)


def _identify(record: Record) -> str:
    data = record.data
    if data.get("id") is None and (data.get("month") is None or data.get("no") is None):
        raise DataError(f"{record.place}: `id` is missing", "or give `month` and `no`")
    return record.identifier() if data.get("id") is not None else f"{data['month']}:{data['no']}"
