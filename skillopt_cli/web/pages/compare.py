"""Several runs side by side: curves, scores, paired test, settings and tasks that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from skillopt_cli.core.formatting import count
from skillopt_cli.core.task import Split
from skillopt_cli.reports.run.comparison import side_by_side
from skillopt_cli.reports.run.subject import RunDifferences, Subject, labels_of, run_differences
from skillopt_cli.reports.split_ledger import split_ledger
from skillopt_cli.reports.task_table import TaskRow
from skillopt_cli.runlog.text.format import shorten
from skillopt_cli.runlog.view import RunView
from skillopt_cli.web.chart_options import overlaid_chart
from skillopt_cli.web.context import Page, WebContext
from skillopt_cli.web.pages.attempts import compared_address
from skillopt_cli.web.pages.index import run_list_page
from skillopt_cli.web.pages.reading import reading_page
from skillopt_cli.web.pages.task_list import last_section
from skillopt_cli.web.pages.tasks import LONGEST, answer_cell
from skillopt_cli.web.paths import RunName
from skillopt_cli.web.runs import RunSnapshot

MOST = 8
"""Limit on the runs of a comparison."""
SPLITS: tuple[Split, ...] = ("test", "selection")


def page(context: WebContext, request: Request) -> Page | Response:
    """The runs named by `?run=BENCHMARK/ID`; the first run is that of `&base=`, else the oldest."""
    keys = list(dict.fromkeys(request.query_params.getlist("run")))
    if not 2 <= len(keys) <= MOST:
        refused = f"{count(len(keys), 'run')} ticked: tick two to {MOST} runs to compare them."
        return run_list_page(context, request, ticked=keys, refused=refused)
    snapshots = [context.runs.snapshot(RunName.of_key(key)) for key in keys]
    if reading := reading_page(context, snapshots):
        return reading
    first = request.query_params.get("base", "")
    snapshots.sort(key=lambda one: (one.name.key != first, _began(one.view)))
    folders = [one.folder for one in snapshots]
    labels = labels_of(folders)
    ledger = split_ledger(folders[0])
    reported = [
        Subject(label, one.view, ledger) for label, one in zip(labels, snapshots, strict=True)
    ]
    # Without the first heading: the page has its own.
    differences = run_differences(reported, folders)
    _, *blocks = side_by_side(reported, differences)
    trained = [
        (label, one.view)
        for label, one in zip(labels, snapshots, strict=True)
        if one.view.baseline is not None and one.view.total_steps
    ]
    variables = {
        "first": snapshots[0].name,
        "others": [(one.name, _address(keys, one.name.key)) for one in snapshots[1:]],
        "skills": [
            (one.name, _skills_address(snapshots[0].name, one.name))
            for one in snapshots[1:]
            if all((each.folder / "best_skill.md").is_file() for each in (snapshots[0], one))
        ],
        "labels": labels,
        "chart": overlaid_chart(trained) if trained else None,
        "blocks": blocks,
        "compared_on": {split: differences.sentence(split) for split in SPLITS},
        "tasks": {split: _differing(snapshots, split, differences) for split in SPLITS},
    }
    return Page("compare.html", variables)


def _began(view: RunView) -> float:
    """When a run began, in Unix seconds; without steps, when its latest process did."""
    return (view.steps[0].began if view.steps else 0.0) or view.worked.began


def _address(keys: Sequence[str], first: str) -> str:
    """The same comparison with another first run."""
    query = [*(("run", key) for key in keys), ("base", first)]
    return f"/compare?{urlencode(query, errors='surrogatepass')}"


def _skills_address(first: RunName, other: RunName) -> str:
    """The differences between the best skills of two runs."""
    query = {"of": first.key, "a": "best", "b": "best"}
    return f"{other.url}/skills?{urlencode(query, errors='surrogatepass')}"


def _differing(
    snapshots: Sequence[RunSnapshot], split: Split, differences: RunDifferences
) -> list[dict[str, Any]]:
    """The tasks of a split that all runs have, and whose result with the last skill differs."""
    tables = [{row.task: row for row in one.tasks(split).rows} for one in snapshots]
    found = []
    known = dict.fromkeys(task for table in tables for task in table)
    for task in (task for task in known if differences.compares(split, task)):
        rows = [table.get(task) for table in tables]
        states = {row.last.outcome.state for row in rows if row and row.last}
        if len(states) > 1:
            found.append(_cells(task, rows, snapshots))
    return found


def _cells(
    task: str, rows: Sequence[TaskRow | None], snapshots: Sequence[RunSnapshot]
) -> dict[str, Any]:
    about = next(row for row in rows if row)
    places = [
        (one.name, row.last.folder)
        for row, one in zip(rows, snapshots, strict=True)
        if row and row.last
    ]
    links = {
        place[0]: compared_address(task, place, [other for other in places if other != place])
        for place in places
    }
    return {
        "task": task,
        "question": shorten(last_section(about.question), LONGEST),
        "expected": shorten(" or ".join(about.expected), LONGEST),
        "answers": [
            (answer_cell(one, row, row.last), links[one.name]) if row and row.last else None
            for row, one in zip(rows, snapshots, strict=True)
        ],
    }
