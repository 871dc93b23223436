"""The runs a report is about: their labels, and in what their settings differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillopt_cli.compose.endpoints import DEFAULT_BACKEND, ROLES
from skillopt_cli.compose.fingerprint import read_manifest
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import flatten
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.task import Split
from skillopt_cli.reports.diff.named_skill import BEST
from skillopt_cli.reports.evaluation import evaluation_of
from skillopt_cli.reports.export.tasks import ExportedTasks, exported_tasks
from skillopt_cli.reports.split_ledger import SplitLedger, split_ledger
from skillopt_cli.runlog.manifest_diff import Difference, differences
from skillopt_cli.runlog.run_log import read_view
from skillopt_cli.runlog.shared_tasks import SharedTasks, shared_tasks
from skillopt_cli.runlog.view import RunView
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.layout import MANIFEST, SOURCES, target_folders

PRESET = "preset "
"""Begins the source of a setting that a preset has."""
_MOST_SOURCES = 1_000_000


@dataclass(frozen=True, slots=True)
class Subject:
    """A run and its label in the report: its id, where that is unique.

    Attributes:
        ledger: the looks at its test tasks, where they were read.
        evaluation: what `eval_summary.json` holds; None for a training.
        tasks: the tasks of the run, where they were read and any was attempted.
        of_files: whether its skill is a folder with files beside SKILL.md.
    """

    label: str
    view: RunView
    ledger: SplitLedger | None = None
    evaluation: dict[str, Any] | None = None
    tasks: ExportedTasks | None = None
    of_files: bool = False


def read_subject(label: str, folder: Path, *, tasks: bool = False) -> Subject:
    """A run, with all that a report shows of it.

    Args:
        tasks: whether its tasks are read too.

    Raises:
        DataError: its log or its result cannot be read.
    """
    view = read_view(folder)
    found = None
    if tasks:
        with suppress(UsageError):  # none was attempted
            found = exported_tasks(view, folder)
    return Subject(
        label,
        view,
        split_ledger(folder),
        evaluation_of(folder),
        found,
        of_files=(folder / BEST).is_dir(),
    )


def labels_of(folders: Sequence[Path]) -> list[str]:
    """The label of each run: its id, or its folder where two have the same id.

    Raises:
        UsageError: a run is named twice.
    """
    if repeated := [f for f, n in Counter(f.resolve() for f in folders).items() if n > 1]:
        raise UsageError(f"the run {repeated[0]} is named twice", "name different runs")
    ids = Counter(folder.resolve().name for folder in folders)
    return [
        folder.resolve().name if ids[folder.resolve().name] == 1 else str(folder)
        for folder in folders
    ]


@dataclass(frozen=True, slots=True)
class RunDifferences:
    """In what several runs differ, and which tasks they have in common.

    Attributes:
        settings: those that differ.
        shared: their selection and test tasks; empty where all have the same ones.
    """

    settings: Sequence[Difference] = ()
    shared: Mapping[Split, SharedTasks] = field(default_factory=dict)

    def compares(self, split: Split, task: str) -> bool:
        """Whether the results of the runs for a task of a split are compared."""
        return split not in self.shared or task in self.shared[split].tasks

    def sentence(self, split: Split) -> str:
        """On which tasks of a split the runs are compared; empty where they have the same ones."""
        return self.shared[split].sentence if split in self.shared else ""


NO_DIFFERENCES = RunDifferences()


def run_differences(reported: Sequence[Subject], folders: Sequence[Path]) -> RunDifferences:
    """In what runs differ.

    Raises:
        UsageError: they have no selection or test task in common, or one has several targets.
    """
    for folder in folders:
        if targets := target_folders(folder):
            listed = ", ".join(map(str, targets))
            raise UsageError(
                f"{folder} holds a run for each of its targets, and is compared with no other run",
                f"name one of them: {listed}",
            )
    manifests: dict[str, Mapping[str, Any]] = {
        one.label: read_manifest(folder / MANIFEST)
        for one, folder in zip(reported, folders, strict=True)
    }
    data = {one.label: run.data for one in reported if (run := one.view.run)}
    shared = {split: one for split, one in shared_tasks(manifests, data).items() if not one.same}
    found = differences(list(manifests.values()))
    defaults = dict(flatten(RunConfig().model_dump(mode="json")))
    defaults |= {f"model.{role}.backend": DEFAULT_BACKEND for role in ROLES}
    presets = [_preset(folder) for folder in folders]
    first = [Difference("preset", tuple(presets))] if len(set(presets)) > 1 else []
    settings = [
        one
        for one in found
        # A setting that one run states at its default and another leaves out is the same.
        if len({json.dumps(defaults.get(one.key) if v is None else v) for v in one.values}) > 1
    ]
    return RunDifferences([*first, *settings], shared)


def _preset(folder: Path) -> str | None:
    """The preset that a run took settings from, with those it is based on; None for none."""
    try:
        sources = json.loads(read_regular(folder / SOURCES, _MOST_SOURCES))
        found = (str(source) for source in sources.values())
    except (OSError, ValueError, AttributeError, RecursionError):
        return None  # of an older version, or damaged
    names = dict.fromkeys(s.removeprefix(PRESET) for s in found if s.startswith(PRESET))
    return " and ".join(sorted(names)) or None
