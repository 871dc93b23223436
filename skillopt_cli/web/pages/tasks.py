"""Tasks by steps: the heat map, and the same as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup
from starlette.requests import Request

from skillopt_cli.ui.pictures import Grid, selection_grid, test_grid, train_grid
from skillopt_cli.ui.pictures.grid import STATE_WORDS, CellState
from skillopt_cli.ui.report.figures import heat
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.words import result_name
from skillopt_cli.web.pages.attempts import address
from skillopt_cli.web.pages.framed import framed
from skillopt_cli.web.site import Page, Site, named

GRIDS: Mapping[str, Callable[[RunView], Grid]] = {
    "selection": selection_grid,
    "train": train_grid,
    "test": test_grid,
}
SIGNS: Mapping[CellState, str] = {"right": "■", "failed": "□", "broken": "x", "unseen": "·"}
"""The forms of the heat map as letters."""
_CELL = Markup('<td class="{}"><span role="img" aria-label="{}">{}</span></td>')
_CELLS = {state: _CELL.format(state, STATE_WORDS[state], sign) for state, sign in SIGNS.items()}


def _first(view: RunView) -> str:
    """The split to show unasked: the one an evaluation measured, else the selection."""
    measured = [] if view.total_steps else [result_name(label) for label in view.tests]
    return next((split for split in measured if split in GRIDS), "selection")


def page(site: Site, request: Request) -> Page:
    """The heat map of one split, and its cells as a table."""
    seen = site.runs.seen(named(request))
    split = request.query_params.get("split", "")
    if split not in GRIDS:
        split = _first(seen.view)
    grid = GRIDS[split](seen.view)
    rows = [
        # Put together here: a long run has thousands of them.
        (task, address(seen.name, task), Markup("".join(map(_CELLS.__getitem__, states))))
        for task, states in grid.rows.items()
    ]
    return framed(
        seen,
        "tasks.html",
        "Tasks",
        split=split,
        splits=list(GRIDS),
        grid=grid,
        rows=rows,
        picture=heat(grid),
    )
