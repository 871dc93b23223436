"""The list of runs."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request

from skillopt_cli.ui.listing import Row, in_order, selection_cell, steps_cell, test_cell
from skillopt_cli.web.live import version_of_list
from skillopt_cli.web.places import Named
from skillopt_cli.web.site import Page, Site


def page(site: Site, request: Request) -> Page:
    """All runs, the latest first."""
    found = site.runs.rows()
    rows = [
        {
            **row,
            "name": _name(row),
            "steps": steps_cell(row),
            "selection": selection_cell(row),
            "test": test_cell(row),
        }
        for row in reversed(in_order(found, "time"))
    ]
    news = {"url": "/live", "version": version_of_list(found)}
    return Page("index.html", {"rows": rows, "news": news, "root": str(site.outputs.root)})


def _name(row: Row) -> Named:
    folder = Path(row["folder"])
    return Named(folder.parent.name, folder.name)
