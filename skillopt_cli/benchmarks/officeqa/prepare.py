"""Download OfficeQA: its questions, and the documents they are about."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from skillopt_cli.benchmarks.kit.document_roots import FOLDER
from skillopt_cli.benchmarks.kit.hub import hub_files, hub_records
from skillopt_cli.benchmarks.kit.prepare import Source, prepare_splits
from skillopt_cli.benchmarks.officeqa.tasks import document, identify, pages_of, read_task
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Split, Task

DATASET = "databricks/officeqa"
QUESTIONS = "officeqa_full.csv"
COUNTS: Mapping[Split, int] = {"train": 50, "selection": 24, "test": 172}


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Write OfficeQA's splits and documents into `folder`; see `kit.prepare.prepare_splits`.

    The data set is gated: its terms are accepted on the hub, and HF_TOKEN is a token of that
    account.

    Args:
        manifest: its records hold a `uid` or `id`; None draws 50, 24 and 172 questions with seed
            42.
        dataset: name on the hub, or a local folder of the same files.
    """
    source = Source(
        dataset,
        lambda: hub_records(dataset, QUESTIONS, benchmark="officeqa"),
        read_task,
        identify,
        COUNTS,
        fetch=lambda chosen: _fetch_documents(folder / FOLDER, chosen, dataset),
    )
    return prepare_splits(folder, manifest, source, document)


def _fetch_documents(folder: Path, tasks: Sequence[Task], dataset: str) -> None:
    """Copy the documents of the tasks, and their parsed pages, each set replaced as a whole."""
    texts = {file for task in tasks for file in task.data["files"]}
    every = any(not task.data["files"] for task in tasks)
    parsed = {f"{PurePosixPath(file).stem}.json" for task in tasks for file, _ in pages_of(task)}
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
