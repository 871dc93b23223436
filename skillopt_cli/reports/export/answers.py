"""The answers to tasks as a table: a row for each task, whether it was attempted or not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from skillopt_cli.benchmarks.kit.answers import tagged_or_all
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Attempt
from skillopt_cli.reports.export.table import Column, ExportTable, as_csv
from skillopt_cli.reports.export.tasks import asked
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.layout import ANSWERS

COLUMNS = ("id", "input", "answer", "reply", "error")
_NOT_MADE = "not attempted"

AnswerRow = dict[str, str | None]
"""A row by the names of the columns; None for what there is not."""


def answer_rows(prompts: Mapping[str, str], made: Mapping[str, Attempt]) -> Iterator[AnswerRow]:
    """A row for each task, without an answer where its attempt is broken or was not made.

    Args:
        prompts: what was asked, by task id, in the order of the rows.
        made: attempts by task id.
    """
    for task, prompt in prompts.items():
        cells = (task, asked(prompt), *_cells(made.get(task)))
        yield dict(zip(COLUMNS, cells, strict=True))


def read_answers(folder: Path) -> list[AnswerRow]:
    """The rows that a run folder holds; none where no task was answered.

    Raises:
        DataError: they cannot be read.
    """
    path = folder / ANSWERS
    if not path.is_file():
        return []
    try:
        rows = [json.loads(line) for line in read_regular(path).splitlines()]
        return [{name: row[name] for name in COLUMNS} for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} holds no answers", "restore it from a copy") from error


def csv_of_answers(rows: Sequence[AnswerRow]) -> bytes:
    """The rows as CSV."""
    columns = [Column(name, "text") for name in COLUMNS]
    return as_csv(ExportTable(columns, [list(row.values()) for row in rows]))


def _cells(attempt: Attempt | None) -> tuple[str | None, str | None, str | None]:
    if attempt is None:
        return None, None, _NOT_MADE
    reply = attempt.answer
    if attempt.ending == "broken" or not reply:
        return None, reply or None, attempt.error or "no answer was given"
    return tagged_or_all(reply), reply, attempt.error or None
