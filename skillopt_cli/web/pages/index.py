"""The list of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

from starlette.requests import Request

from skillopt_cli.runlog.text.run_list import (
    Row,
    in_order,
    selection_cell,
    status_cell,
    steps_cell,
    test_cell,
)
from skillopt_cli.web.context import Page, WebContext
from skillopt_cli.web.listing import Key, Listing
from skillopt_cli.web.live import version_of_list
from skillopt_cli.web.pages.sweeps import sweep_link
from skillopt_cli.web.paths import RunName
from skillopt_cli.web.run_notes import read_notes


def _state(row: Row) -> str:
    """The status of a run; "paused" where it is, whatever that pause waits for."""
    status: str = row["status"]
    shown = status_cell(row)
    return "paused" if row["paused"] else shown if shown == "stopped" else status


FILTERS: Mapping[str, Callable[[Row], Sequence[str]]] = {
    "benchmark": lambda row: (row["name"].benchmark,),
    "model": lambda row: (row["target"] or "",),
    # A run whose log is being read has no status yet.
    "status": lambda row: () if row["status"] == "reading" else (_state(row),),
    "tag": lambda row: row["notes"].tags,
}
KEYS: Mapping[str, Key[Row]] = {
    "run": lambda row: row["name"].key,
    "status": _state,
    "steps": itemgetter("total_steps"),
    "selection": itemgetter("best_selection_hard"),
    "test": lambda row: row["evaluated"][0]["hard"] if row["evaluated"] else row["test_hard"],
    "updated": itemgetter("updated"),
}


def page(context: WebContext, request: Request) -> Page:
    """The runs that are asked for, the latest first."""
    return run_list_page(context, request)


def run_list_page(
    context: WebContext, request: Request, *, ticked: Sequence[str] = (), refused: str = ""
) -> Page:
    """The list of runs; after a comparison was refused with what was ticked, and why."""
    found = context.runs.rows()
    rows = [
        {
            **row,
            "name": RunName(*Path(row["folder"]).parts[-2:]),
            "notes": read_notes(Path(row["folder"])),
        }
        for row in reversed(in_order(found, "updated"))
    ]
    listing = Listing.of("/", request.query_params, FILTERS)
    if tag := listing.filters.get("tag"):  # tags are kept in lower case
        listing = replace(listing, filters={**listing.filters, "tag": tag.lower()})
    chosen = listing.chosen(rows, _text, FILTERS, KEYS)
    choices = {
        name: sorted({value for row in rows for value in values(row) if value})
        for name, values in FILTERS.items()
    }
    variables = {
        "rows": [
            {
                **row,
                "state": _state(row),
                "shown_state": status_cell(row),
                "shown_steps": steps_cell(row),
                "selection": selection_cell(row),
                "test": test_cell(row),
                "sweep": sweep_link(context.outputs.root, row["name"]),
            }
            for row in chosen
        ],
        "all": len(rows),
        "listing": listing,
        "choices": {name: values for name, values in choices.items() if values},
        "news": {"url": "/live", "version": version_of_list(found)},
        "root": str(context.outputs.root),
        "ticked": ticked,
        "refused": refused,
    }
    return Page("index.html", variables, 422 if refused else 200)


def _text(row: Row) -> str:
    notes = row["notes"]
    return " ".join((row["name"].key, row["target"] or "", notes.note, *notes.tags))
