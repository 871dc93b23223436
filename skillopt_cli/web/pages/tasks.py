"""Tasks of a split: a table to search, sort and filter, and the heat map as its navigation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from starlette.requests import Request

from skillopt_cli.benchmarks.kit.answers import tagged_or_all
from skillopt_cli.charts.task_grid import STATE_WORDS, grid_of
from skillopt_cli.core.task import TaskSet
from skillopt_cli.reports.confusions import confusion_blocks
from skillopt_cli.reports.page import Block
from skillopt_cli.reports.run.figures import heat
from skillopt_cli.reports.run.html import parts_of
from skillopt_cli.reports.task_answers import TaskAnswer
from skillopt_cli.reports.task_table import RESULTS, TaskRow
from skillopt_cli.runlog.text.format import score, shorten
from skillopt_cli.web.context import Page, WebContext, run_name
from skillopt_cli.web.listing import part_of
from skillopt_cli.web.pages.attempts import address
from skillopt_cli.web.pages.downloads import download_links
from skillopt_cli.web.pages.run_page import run_page
from skillopt_cli.web.pages.task_list import last_section, task_list
from skillopt_cli.web.runs import RunSnapshot

LONGEST = 160
"""Characters of a text in the table; the page of a task has all of it."""
COLUMNS = 60
"""Columns of the heat map on one page, the latest first."""
_ORDER: tuple[TaskSet, ...] = ("selection", "train", "test", "all")


def page(context: WebContext, request: Request) -> Page:
    """The tasks of one split."""
    snapshot = context.runs.snapshot(run_name(request))
    path, query = f"{snapshot.name.url}/tasks", request.query_params
    found = task_list(snapshot, query)
    split, table, listing = found.split, found.table, found.listing
    part = part_of(found.rows, path, query)
    columns = part_of(table.columns[::-1], path, query, "columns", COLUMNS)
    links = {
        row.task: address(snapshot.name, row.task, more=listing.parameters) for row in part.rows
    }
    return run_page(
        snapshot,
        "tasks.html",
        "Tasks",
        split=split,
        splits=[n for n in _ORDER if n != "all" or snapshot.view.evaluated == "all"],
        table=table,
        rows=[_shown(snapshot, row) | {"url": links[row.task]} for row in part.rows],
        part=part,
        columns=columns,
        listing=listing,
        results=RESULTS,
        counts=Counter(row.result for row in table.rows),
        kinds=sorted({row.kind for row in table.rows if row.kind}),
        downloads=download_links(snapshot),
        confusions=list(parts_of(_confusions(snapshot, split))),
        picture=heat(grid_of(split, columns.rows[::-1], links), links),
    )


def _confusions(snapshot: RunSnapshot, split: TaskSet) -> Iterator[Block]:
    """The confusion matrices of a split, with those of the tasks that confirm the best skill."""
    if split != "train" or snapshot.view.evaluated == "train":
        parts = (split, "confirmation") if split == "test" else (split,)
        yield from confusion_blocks(snapshot.confusions, parts)


def _shown(snapshot: RunSnapshot, row: TaskRow) -> dict[str, object]:
    """The cells of a row."""
    return {
        "task": row.task,
        "kind": row.kind,
        "question": shorten(last_section(row.question), LONGEST),
        "expected": shorten(" or ".join(row.expected), LONGEST),
        "answers": [answer_cell(snapshot, row, one) for one in (row.first, row.last)],
        "result": row.result,
        "flips": row.flips,
    }


def answer_cell(
    snapshot: RunSnapshot, row: TaskRow, answer: TaskAnswer | None
) -> dict[str, str] | None:
    """An answer in a cell of a table: its text in short, its state, and that in words.

    Of repeated attempts the words have the mean hard score, that of each, and which is shown. They
    state where an answer is none of the labels that answers of the run are.
    """
    if answer is None:
        return None
    state = answer.outcome.state
    words = STATE_WORDS[state]
    if len(answer.attempts) > 1:
        each = ", ".join(score(one.outcome.hard) for one in answer.attempts)
        words += f" {score(answer.outcome.hard)} (attempts: {each}; shown: {answer.shown})"
    if snapshot.outside_labels(row, answer):
        words += ", not a label"
    return {
        "text": shorten(tagged_or_all(answer.text), LONGEST),
        "state": state,
        "words": words,
    }
