"""The tasks of a split as the address of a page asks for them: searched, filtered and in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.datastructures import QueryParams

from skillopt_cli.core.task import TASK_SETS, TaskSet
from skillopt_cli.reports.task_table import TaskRow, TaskTable, first_split
from skillopt_cli.web.listing import Key, Listing
from skillopt_cli.web.runs import RunSnapshot

KEYS: Mapping[str, Key[TaskRow]] = {
    "kind": lambda row: row.kind,
    "question": lambda row: last_section(row.question).casefold(),
    "expected": lambda row: " ".join(row.expected).casefold(),
    "first": lambda row: row.first and row.first.outcome.soft,
    "last": lambda row: row.last and row.last.outcome.soft,
    "result": lambda row: row.result,
    "flips": lambda row: row.flips,
}
FILTERS: Mapping[str, Callable[[TaskRow], tuple[str, ...]]] = {
    "result": lambda row: (row.result or "",),
    "kind": lambda row: (row.kind,),
}


@dataclass(frozen=True, slots=True)
class TaskList:
    """The tasks that an address asks for.

    Attributes:
        table: all tasks of the split.
        rows: those that are asked for, in order.
    """

    split: TaskSet
    table: TaskTable
    listing: Listing
    rows: list[TaskRow]

    def beside(self, task: str) -> tuple[str, str]:
        """The tasks before and after one; empty at either end, and where it is not in the list."""
        names = ["", *(row.task for row in self.rows), ""]
        if not task or task not in names:
            return "", ""
        here = names.index(task)
        return names[here - 1], names[here + 1]


def task_list(snapshot: RunSnapshot, query: QueryParams, task: str = "") -> TaskList:
    """The tasks that an address asks for.

    Args:
        task: where the address names no split, one that has this task.
    """
    asked: TaskSet | None = next((name for name in TASK_SETS if name == query.get("split")), None)
    split = asked or _split_of(snapshot, task) or first_split(snapshot.view)
    table = snapshot.tasks(split)
    path = f"{snapshot.name.url}/tasks"
    listing = Listing.of(path, query, FILTERS, {"split": split})
    return TaskList(split, table, listing, listing.chosen(table.rows, _text, FILTERS, KEYS))


def _split_of(snapshot: RunSnapshot, task: str) -> TaskSet | None:
    if not task:
        return None
    tables = ((split, snapshot.tasks(split)) for split in TASK_SETS)
    return next((s for s, table in tables if any(row.task == task for row in table.rows)), None)


def _text(row: TaskRow) -> str:
    answers = (one.text for one in (row.first, row.last) if one)
    expected = " or ".join(row.expected)
    return " ".join((row.task, row.kind, row.question, expected, *answers, row.result or ""))


def last_section(question: str) -> str:
    """The last section of a task's text without its title: what is asked, after what is given."""
    _, title, rest = question.rpartition("\n## ")
    if not title:
        rest = question.removeprefix("## ")
        return rest.partition("\n")[2] or rest if rest != question else question
    return rest.partition("\n")[2] or rest
