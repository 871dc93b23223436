"""Download LiveMathematicianBench: the items an id manifest names, or a seeded selection."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillopt_cli.benchmarks.kit.hub import hub_records
from skillopt_cli.benchmarks.kit.prepare import Source, prepare_splits
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.livemathematicianbench.tasks import FILES, read_task
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Split

DATASET = "LiveMathematicianBench/LiveMathematicianBench"
COUNTS: Mapping[Split, int] = {"train": 35, "selection": 17, "test": 125}


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Write LiveMathematicianBench's splits into `folder`; see `kit.prepare.prepare_splits`.

    Args:
        manifest: its records hold an `id`, or `month` and `no`; None draws 35, 17 and 125 items
            with seed 42.
        dataset: name on the hub, or a local folder of its monthly files.
    """
    source = Source(
        dataset,
        lambda: hub_records(dataset, FILES, benchmark="livemathematicianbench"),
        read_task,
        _identify,
        COUNTS,
    )
    return prepare_splits(folder, manifest, source, lambda task: {"id": task.id, **task.data})


def _identify(record: Record) -> str:
    data = record.data
    if data.get("id") is None and (data.get("month") is None or data.get("no") is None):
        raise DataError(f"{record.place}: `id` is missing", "or give `month` and `no`")
    return record.identifier() if data.get("id") is not None else f"{data['month']}:{data['no']}"
