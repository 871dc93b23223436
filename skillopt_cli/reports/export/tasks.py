"""The tasks of a run as a table: a row for each, with the answers and scores of seed and best."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.kit.answers import tagged_or_all
from skillopt_cli.benchmarks.kit.labels import given_label
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.labels import Labels, TaskAnswers, find_labels
from skillopt_cli.core.task import SPLITS, Split, TaskSet
from skillopt_cli.reports.export.table import Column, ExportTable
from skillopt_cli.reports.task_answers import TaskAnswer
from skillopt_cli.reports.task_table import TaskRow, TaskTable, task_table
from skillopt_cli.reports.task_texts import TaskTexts
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import ANSWERS

COMPARED: tuple[Split, ...] = ("selection", "test")
"""The splits on which a training measures both seed and best skill."""


@dataclass(frozen=True, slots=True)
class ExportedTask:
    """A task and the part of the data it is of: a split, or `confirmation`."""

    part: str
    row: TaskRow


@dataclass(frozen=True, slots=True)
class ExportedTasks:
    """The tasks of a run.

    Attributes:
        titles: of the texts that were measured, in the order of each row's answers.
        labels: the label set of all tasks of the run, those that are not exported included.
    """

    titles: tuple[str, ...]
    tasks: Sequence[ExportedTask]
    labels: Labels

    @property
    def prefixes(self) -> tuple[str, ...]:
        """What the columns of each text begin with; nothing where there is only one."""
        if len(self.titles) == 1:
            return ("",)
        return tuple(f"{title.replace(' ', '_')}_" for title in self.titles)

    @property
    def textless(self) -> int:
        """Attempts whose answer is not in the run folder."""
        answers = (answer for task in self.tasks for answer in task.row.answers if answer)
        attempts = (attempt for answer in answers for attempt in answer.attempts)
        # Texts that are equal share their attempts.
        return len({(one.folder, one.outcome.task) for one in attempts if not one.known})

    def label_of(self, row: TaskRow) -> str | None:
        """The label that is the expected answer to a task."""
        return self.labels.label_of(row.expected)

    def label_in(self, text: str) -> str | None:
        """The label that an answer gives."""
        return given_label(text, self.labels)


def exported_tasks(
    view: RunView, folder: Path, split: TaskSet | None = None, most: int = sys.maxsize
) -> ExportedTasks:
    """The tasks of a run that were attempted.

    Args:
        folder: the run folder.
        most: limit on the bytes of all results together.
        split: which; else those on which a training measures both seed and best skill, and the
            one that an evaluation measured.

    Raises:
        UsageError: none was attempted, or the results have more bytes.
    """
    texts = TaskTexts(folder, whole=most)
    tables = {name: task_table(view, name, texts) for name in measured_splits(view)}
    if texts.refused:
        raise UsageError(
            f"the results of the run {folder} have more than {most:,} bytes",
            f"`skillopt runs export {folder.name}` has no such limit",
        )
    found = tasks_of(tables, (split,) if split else compared_splits(view))
    if not found.tasks and (folder / ANSWERS).exists():
        raise UsageError(
            f"the run {folder} has answers and no scores, so there is nothing to compare",
            f"its answers are in {folder / ANSWERS}, and in the table that `skillopt answer` wrote",
        )
    if not found.tasks:
        what = f"task of the split `{split}`" if split else "task"
        raise UsageError(
            f"the run {folder} has no {what} that was attempted",
            "`skillopt runs list` shows the runs, and what each has measured",
        )
    return found


def measured_splits(view: RunView) -> tuple[TaskSet, ...]:
    """The splits whose tasks a run attempts."""
    return SPLITS if view.evaluated is None else (view.evaluated,)


def compared_splits(view: RunView) -> tuple[TaskSet, ...]:
    """The splits on which texts are compared: those that an evaluation, or a training, measures."""
    return COMPARED if view.evaluated is None else (view.evaluated,)


def tasks_of(tables: Mapping[TaskSet, TaskTable], splits: Sequence[TaskSet]) -> ExportedTasks:
    """The tasks of some splits.

    Args:
        tables: of all splits that were measured, which together show whether answers are labels.
    """
    found = [tables[name] for name in splits if name in tables and tables[name].rows]
    answers = [
        TaskAnswers(row.task, tuple(row.expected))
        for table in tables.values()
        for row in table.rows
    ]
    tasks = [
        ExportedTask("confirmation" if row.confirming else table.split, row)
        for table in found
        for row in table.rows
    ]
    return ExportedTasks(found[0].titles if found else (), tasks, find_labels(answers))


def export_of_tasks(found: ExportedTasks) -> ExportTable:
    """A row for each task. Scores of repeated attempts are means, beside those of each."""
    answers = [answer for task in found.tasks for answer in task.row.answers if answer]
    repeated = any(len(answer.attempts) > 1 for answer in answers)
    columns = [
        *(Column(name, "text") for name in ("id", "split", "kind", "label", "input")),
        Column("expected", "texts"),
    ]
    for prefix in found.prefixes:
        columns += [
            Column(f"{prefix}answer", "text"),
            Column(f"{prefix}hard", "number"),
            Column(f"{prefix}soft", "number"),
        ]
        if repeated:
            columns += [
                Column(f"{prefix}attempts", "count"),
                Column(f"{prefix}answer_of_attempt", "count"),
                Column(f"{prefix}hard_of_each", "numbers"),
                Column(f"{prefix}soft_of_each", "numbers"),
            ]
    compared = len(found.titles) > 1
    if compared:
        columns.append(Column("result", "text"))
    rows = []
    for task in found.tasks:
        cells = [cell for one in task.row.answers for cell in _answer(one, repeated=repeated)]
        rows.append((*_about(found, task), *cells, *((task.row.result,) if compared else ())))
    return ExportTable(columns, rows)


def _about(found: ExportedTasks, task: ExportedTask) -> tuple[Any, ...]:
    row = task.row
    label = found.label_of(row)
    return row.task, task.part, row.kind, label, asked(row.question), list(row.expected)


def _answer(answer: TaskAnswer | None, *, repeated: bool) -> Iterator[Any]:
    if answer is None:
        yield from [None] * (5 if repeated else 3)
        if repeated:
            yield from ([], [])
        return
    yield tagged_or_all(answer.text)
    yield answer.outcome.hard
    yield answer.outcome.soft
    if repeated:
        yield len(answer.attempts)
        yield answer.shown
        yield [one.outcome.hard for one in answer.attempts]
        yield [one.outcome.soft for one in answer.attempts]


def asked(question: str) -> str:
    """What was asked; of a text with one section alone, without the title of that."""
    if question.startswith("## ") and "\n## " not in question:
        return question.partition("\n")[2]
    return question
