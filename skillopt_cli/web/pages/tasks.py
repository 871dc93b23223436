"""Tasks of a split: a table to search, sort and filter, and the heat map as its navigation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from starlette.requests import Request

from skillopt_cli.benchmarks.kit.answers import tagged_or_all
from skillopt_cli.charts.task_grid import STATE_WORDS, grid_of
from skillopt_cli.core.task import SPLITS, Split
from skillopt_cli.reports.confusions import confusion_blocks
from skillopt_cli.reports.page import Block
from skillopt_cli.reports.run.figures import heat
from skillopt_cli.reports.run.html import parts_of
from skillopt_cli.reports.task_answers import TaskAnswer
from skillopt_cli.reports.task_table import LABELS, TaskRow, first_split
from skillopt_cli.runlog.text.format import score, shorten
from skillopt_cli.web.context import Page, WebContext, run_name
from skillopt_cli.web.listing import Key, Listing, part_of
from skillopt_cli.web.pages.attempts import address
from skillopt_cli.web.pages.downloads import download_links
from skillopt_cli.web.pages.run_page import run_page
from skillopt_cli.web.runs import RunSnapshot

LONGEST = 160
"""Characters of a text in the table; the page of a task has all of it."""
COLUMNS = 60
"""Columns of the heat map on one page, the latest first."""
KEYS: Mapping[str, Key[TaskRow]] = {
    "kind": lambda row: row.kind,
    "question": lambda row: last_section(row.question).casefold(),
    "expected": lambda row: " ".join(row.expected).casefold(),
    "first": lambda row: row.first and row.first.outcome.soft,
    "last": lambda row: row.last and row.last.outcome.soft,
    "result": lambda row: ", ".join(row.labels) or None,
    "flips": lambda row: row.flips,
}
FILTERS: Mapping[str, Callable[[TaskRow], tuple[str, ...]]] = {
    "result": lambda row: row.labels,
    "kind": lambda row: (row.kind,),
}


def page(context: WebContext, request: Request) -> Page:
    """The tasks of one split."""
    snapshot = context.runs.snapshot(run_name(request))
    split: Split = next(
        (name for name in SPLITS if name == request.query_params.get("split")),
        first_split(snapshot.view),
    )
    table = snapshot.tasks(split)
    path, query = f"{snapshot.name.url}/tasks", request.query_params
    listing = Listing.of(path, query, FILTERS, {"split": split})
    part = part_of(listing.chosen(table.rows, _text, FILTERS, KEYS), path, query)
    columns = part_of(table.columns[::-1], path, query, "columns", COLUMNS)
    links = {row.task: address(snapshot.name, row.task) for row in part.rows}
    return run_page(
        snapshot,
        "tasks.html",
        "Tasks",
        split=split,
        splits=("selection", "train", "test"),
        table=table,
        rows=[_shown(row) | {"url": links[row.task]} for row in part.rows],
        part=part,
        columns=columns,
        listing=listing,
        labels=LABELS,
        counts={label: sum(label in row.labels for row in table.rows) for label in LABELS},
        kinds=sorted({row.kind for row in table.rows if row.kind}),
        downloads=download_links(snapshot),
        confusions=list(parts_of(_confusions(snapshot, split))),
        picture=heat(grid_of(split, columns.rows[::-1], links), links),
    )


def _confusions(snapshot: RunSnapshot, split: Split) -> Iterator[Block]:
    """The confusion matrices of a split, with those of the tasks that confirm the best skill."""
    if split != "train" or snapshot.view.evaluated == "train":
        parts = (split, "confirmation") if split == "test" else (split,)
        yield from confusion_blocks(snapshot.confusions, parts)


def _text(row: TaskRow) -> str:
    answers = (one.text for one in (row.first, row.last) if one)
    expected = " or ".join(row.expected)
    return " ".join((row.task, row.kind, row.question, expected, *answers, *row.labels))


def _shown(row: TaskRow) -> dict[str, object]:
    """The cells of a row."""
    return {
        "task": row.task,
        "kind": row.kind,
        "question": shorten(last_section(row.question), LONGEST),
        "expected": shorten(" or ".join(row.expected), LONGEST),
        "answers": [answer_cell(row.first), answer_cell(row.last)],
        "labels": row.labels,
        "flips": row.flips,
    }


def answer_cell(answer: TaskAnswer | None) -> dict[str, str] | None:
    """An answer in a cell of a table: its text in short, its state, and that in words.

    Of repeated attempts the words have the mean hard score, that of each, and which is shown.
    """
    if answer is None:
        return None
    state = answer.outcome.state
    words = STATE_WORDS[state]
    if len(answer.attempts) > 1:
        each = ", ".join(score(one.outcome.hard) for one in answer.attempts)
        words += f" {score(answer.outcome.hard)} (attempts: {each}; shown: {answer.shown})"
    return {
        "text": shorten(tagged_or_all(answer.text), LONGEST),
        "state": state,
        "words": words,
    }


def last_section(question: str) -> str:
    """The last section of a task's text without its title: what is asked, after what is given."""
    _, title, rest = question.rpartition("\n## ")
    if not title:
        rest = question.removeprefix("## ")
        return rest.partition("\n")[2] or rest if rest != question else question
    return rest.partition("\n")[2] or rest
