"""Download SealQA: the questions an id manifest names, or all of them, cut."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillopt_cli.benchmarks.hub import load_hub
from skillopt_cli.benchmarks.prepared import (
    RATIO,
    draw_by_ratio,
    gather,
    origin,
    pick,
    read_manifest,
    single,
    write_splits,
)
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.benchmarks.sealqa.items import identify, read_item
from skillopt_cli.core.task import Split

DATASET = "vtllms/sealqa"
CONFIG = "seal_hard"
"""The questions of SEAL-0 are among them."""
FIELDS = ("question", "answer")


def prepare(
    folder: Path,
    manifest: Path | None = None,
    *,
    dataset: str = DATASET,
    config: str | None = CONFIG,
) -> Mapping[Split, int]:
    """Fill `folder` with train|val|test/items.json; its split_manifest.json is written last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold a `question_id` or `id`
            each; None cuts all questions 2:1:7 with seed 42.
        dataset: name on the hub, or a local folder of the same layout.
        config: the data set's configuration.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: `datasets` is not installed, the hub fails, or ids or fields do not fit.
    """
    wanted = read_manifest(manifest, identify) if manifest else None
    records = (
        Record(row, Path(f"{dataset}/{name}.jsonl"), number)
        for name, rows in load_hub(dataset, FIELDS, config=config, benchmark="sealqa").items()
        for number, row in enumerate(rows, 1)
    )
    found = gather(records, read_item)
    ids = wanted or draw_by_ratio(single(found.items))
    about = {
        **origin(dataset, manifest),
        "source_config": config,
        "split_ratio": None if manifest else RATIO,
    }
    items = {
        split: [item.document() for item in part]
        for split, part in pick(ids, found.items, dataset).items()
    }
    return write_splits(folder, items, about)
