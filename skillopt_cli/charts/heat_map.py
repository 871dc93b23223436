"""The item x step heat map: a row for each task, a column for each text it was tried under."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

from markupsafe import Markup

from skillopt_cli.charts.svg import drawing, number, sample, tag
from skillopt_cli.charts.task_grid import STATE_WORDS, STATES, CellState, Column, Grid
from skillopt_cli.core.formatting import count
from skillopt_cli.runlog.text.action import action_words
from skillopt_cli.runlog.text.format import shorten

_PITCH = 14
_CELL = 10
_LETTER = 6.2
_MOST_LETTERS = 22
_TOP = 22
_GROUND = tag("rect", class_="row", width="100%", height=_PITCH)
"""Takes the pointer between the cells of a row too, so that the tooltip stays."""


def heat_map(grid: Grid, links: Mapping[str, str] | None = None) -> Markup:
    """The picture; states differ in form as well as in colour.

    Args:
        links: the address that a task's row leads to, by task. They take no place in the order of
            the Tab key: the page has the same links in a table.

    A row carries its task in `data-task`, and its story as a tooltip. The cells of one state are
    one path, so that a map of thousands of them stays small; the heads of columns say in `data-x`
    where theirs begin, in the picture's own units.
    """
    letters = max((len(shorten(task, _MOST_LETTERS)) for task in grid.tasks), default=0)
    left = number(letters * _LETTER + 10)
    widths = [max(_PITCH, len(c.title) * _LETTER + 4) for c in grid.columns]
    *starts, end = accumulate(widths, initial=float(left))
    # Below the middle of its title, so that long titles of neighbours keep a gap.
    cells = [x + (width - _PITCH) / 2 for x, width in zip(starts, widths, strict=True)]
    size = (end + 4, _TOP + _PITCH * len(grid.rows) + 2)
    heads = (_head(c, x) for c, x in zip(grid.columns, cells, strict=True))
    shapes = {s: [_shape(s, x, 0) for x in cells] for s in STATES}
    rows = (
        _linked(
            (links or {}).get(task),
            tag(
                "g",
                *_row(grid, task, shapes),
                transform=f"translate(0 {_TOP + _PITCH * i})",
                data_task=task,
            ),
        )
        for i, task in enumerate(grid.rows)
    )
    # What holds links is no single image.
    role = "group" if links else "img"
    return drawing(heat_words(grid), size, "heat", *heads, *rows, role=role)


def _linked(address: str | None, row: Markup) -> Markup:
    return row if address is None else tag("a", row, href=address, tabindex=-1)


def heat_words(grid: Grid) -> str:
    """What the map shows, in a sentence."""
    tasks, columns = count(len(grid.tasks), "row"), count(len(grid.columns), "column")
    cells = ", ".join(f"{n:,} {STATE_WORDS[state]}" for state, n in grid.counts.items() if n)
    return f"Heat map of {grid.what}: {tasks}, {columns}; cells: {cells or 'none'}"


def heat_legend(grid: Grid) -> list[tuple[Markup, str]]:
    """A sample of each state that occurs, and what it means with how many cells it has."""
    return [
        (sample(_cell(state), STATE_WORDS[state]), f"{STATE_WORDS[state]}: {n:,}")
        for state, n in grid.counts.items()
        if n
    ]


def _cell(state: CellState) -> Markup:
    return tag("path", class_=state, d=_shape(state, 1, 1))


def _head(column: Column, x: float) -> Markup:
    words = f"{column.words}: {action_words(column.action)}" if column.action else column.words
    name = tag("text", column.title, x=x + _CELL / 2, y=12, class_="column")
    fate = tag("path", class_=_fate(column.action), d=f"M{number(x)} 16h{_CELL}v3h-{_CELL}z")
    return tag("g", tag("title", words), name, fate, data_column=column.title, data_x=x)


def _fate(action: str) -> str:
    """The colour of what became of a text."""
    if "accept" in action:
        return "fate taken"
    return "fate refused" if action == "reject" else "fate open"


def _row(grid: Grid, task: str, shapes: Mapping[CellState, list[str]]) -> Iterator[Markup]:
    """A row of the map; `shapes` has what each state looks like in each column."""
    yield tag("title", f"{task}: {grid.story(task)}")
    yield _GROUND
    yield tag("text", shorten(task, _MOST_LETTERS), x=2, y=9, class_="task")
    paths: dict[CellState, list[str]] = {}
    for column, state in enumerate(grid.rows[task]):
        paths.setdefault(state, []).append(shapes[state][column])
    for state in STATES:
        if state in paths:
            yield tag("path", class_=state, d=Markup("".join(paths[state])))


def _shape(state: CellState, x: float, y: float) -> str:
    """A full square, a hollow one, a cross, a dot."""
    match state:
        case "right":
            return f"M{number(x)} {number(y)}h{_CELL}v{_CELL}h-{_CELL}z"
        case "failed":
            return f"M{number(x + 1)} {number(y + 1)}h8v8h-8z"
        case "broken":
            left, right, top = number(x + 1), number(x + 9), number(y + 1)
            return f"M{left} {top}l8 8M{right} {top}l-8 8"
    return f"M{number(x + 3.5)} {number(y + 3.5)}h3v3h-3z"
