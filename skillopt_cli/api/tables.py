"""The tables of a run's tasks that `skillopt runs export` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skillopt_cli.api.arguments import known_split
from skillopt_cli.core.errors import UsageError
from skillopt_cli.reports.export.table import ExportTable
from skillopt_cli.reports.export.tables import TABLES
from skillopt_cli.reports.export.tasks import ExportedTasks, exported_tasks
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import target_folders


def tasks_to_export(view: RunView, folder: Path, split: str | None) -> ExportedTasks:
    """The tasks of a run that were attempted.

    Args:
        folder: the run folder.
        split: train, selection or test; None for those on which skills are compared.

    Raises:
        UsageError: there is no such split, nothing of it was attempted, or the folder holds a run
            for each of several targets.
    """
    if targets := target_folders(folder):
        listed = ", ".join(map(str, targets))
        raise UsageError(f"{folder} holds a run for each of its targets", f"name one of {listed}")
    return exported_tasks(view, folder, known_split(split) if split else None)


def table_of(tasks: ExportedTasks, what: str) -> ExportTable:
    """The table of this name.

    Raises:
        UsageError: there is none, or it counts labels and the answers are none.
    """
    if what not in TABLES:
        raise UsageError(f"there is no table `{what}`", f"tables: {', '.join(TABLES)}")
    return TABLES[what](tasks)


def rows_of(table: ExportTable) -> list[dict[str, Any]]:
    """The rows of a table by the names of its columns."""
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]
