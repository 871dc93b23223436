"""Runs that are to stand side by side: what they are called, and in what they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skillopt_cli.compose.comparison import differences, refuse_other_tasks
from skillopt_cli.compose.folder import MANIFEST
from skillopt_cli.compose.manifest import read_manifest
from skillopt_cli.core.errors import UsageError
from skillopt_cli.ui.report.reported import Difference


def labels_of(folders: Sequence[Path]) -> list[str]:
    """What runs are called: their id, or their folder where two have the same id.

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


def apart(labels: Sequence[str], folders: Sequence[Path]) -> list[Difference]:
    """In what the runs differ.

    Raises:
        UsageError: their scores do not rest on the same tasks.
    """
    manifests: dict[str, Mapping[str, Any]] = {
        label: read_manifest(folder / MANIFEST)
        for label, folder in zip(labels, folders, strict=True)
    }
    refuse_other_tasks(manifests)
    found = differences(list(manifests.values()))
    return [Difference(key, values) for key, values in found.items()]
