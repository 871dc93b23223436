"""The answers to tasks as a table: a row for each task, whether it was attempted or not."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt_cli.benchmarks.kit.answers import tagged_or_all
from skillopt_cli.core.task import Attempt
from skillopt_cli.reports.export.table import Column, ExportTable
from skillopt_cli.reports.export.tasks import asked

COLUMNS = ("id", "input", "answer", "reply", "error")
_NOT_MADE = "not attempted"


def export_of_answers(prompts: Mapping[str, str], made: Mapping[str, Attempt]) -> ExportTable:
    """A row for each task, without an answer where its attempt is broken or was not made.

    Args:
        prompts: what was asked, by task id, in the order of the rows.
        made: attempts by task id.
    """
    rows = [(task, asked(prompt), *_cells(made.get(task))) for task, prompt in prompts.items()]
    return ExportTable([Column(name, "text") for name in COLUMNS], rows)


def _cells(attempt: Attempt | None) -> tuple[str | None, str | None, str | None]:
    if attempt is None:
        return None, None, _NOT_MADE
    reply = attempt.answer
    if attempt.ending == "broken" or not reply:
        return None, reply or None, attempt.error or "no answer was given"
    return tagged_or_all(reply), reply, attempt.error or None
