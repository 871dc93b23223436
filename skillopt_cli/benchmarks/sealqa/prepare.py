"""Download SealQA: the questions an id manifest names, or all of them, cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from skillopt_cli.benchmarks.kit.hub import load_hub
from skillopt_cli.benchmarks.kit.prepare import RATIO, Source, prepare_splits
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.sealqa.tasks import document, identify, read_task
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
    """Write SealQA's splits into `folder`; see `kit.prepare.prepare_splits`.

    Args:
        manifest: its records hold a `question_id` or `id`; None cuts all questions 2:1:7 with seed
            42.
        dataset: name on the hub, or a local folder of the same layout.
        config: the data set's configuration.
    """

    def records() -> Iterator[Record]:
        loaded = load_hub(dataset, FIELDS, config=config, benchmark="sealqa")
        for name, rows in loaded.items():
            for number, row in enumerate(rows, 1):
                yield Record(row, Path(f"{dataset}/{name}.jsonl"), number)

    about = {"source_config": config, "split_ratio": None if manifest else RATIO}
    source = Source(dataset, records, read_task, identify, about=lambda: about)
    return prepare_splits(folder, manifest, source, document)
