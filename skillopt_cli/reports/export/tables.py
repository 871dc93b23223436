"""The tables of a run's tasks, by what they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from skillopt_cli.reports.export.groups import (
    export_of_confusions,
    export_of_kinds,
    export_of_labels,
)
from skillopt_cli.reports.export.table import ExportTable
from skillopt_cli.reports.export.tasks import ExportedTasks, export_of_tasks

TABLES: Mapping[str, Callable[[ExportedTasks], ExportTable]] = {
    "tasks": export_of_tasks,
    "kinds": export_of_kinds,
    "labels": export_of_labels,
    "confusions": export_of_confusions,
}
