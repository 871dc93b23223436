"""Empty cells of tables that their tasks need, reported all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.benchmarks.kit.records import Record, place
from skillopt_cli.core.errors import DataError

_NAMED = 10
"""Rows that a message names for each column."""


@dataclass(frozen=True, slots=True)
class EmptyCell:
    """An empty cell: its file, its row as `Record.number`, and the name of its column."""

    path: Path
    number: int
    column: str


def empty_cells(record: Record, needed: Iterable[Sequence[str]]) -> list[EmptyCell]:
    """The empty cells of a row; none where the record is no row of a table.

    Args:
        needed: columns by what the task needs, one of which has to be filled for each.
    """
    if not record.in_table:
        return []
    held = [[name for name in names if name in record.data] for names in needed]
    return [
        EmptyCell(record.path, record.number, names[0])
        for names in held
        if names and all(record.data[name] is None for name in names)
    ]


def refuse_empty_cells(cells: Sequence[EmptyCell]) -> None:
    """Refuse tables with empty cells, naming the first ten rows of each column.

    Raises:
        DataError: there is one.
    """
    if not cells:
        return
    rows: dict[tuple[Path, str], list[int]] = {}
    for cell in cells:
        rows.setdefault((cell.path, cell.column), []).append(cell.number)
    parts = [
        f"{places(path, numbers)}: the cell `{column}` is empty"
        for (path, column), numbers in rows.items()
    ]
    several = len(cells) > 1
    raise DataError(
        "; ".join(parts),
        "fill in the cells, or remove the rows" if several else "fill it in, or remove the row",
    )


def places(path: Path, numbers: Sequence[int]) -> str:
    """A file and the first ten of these rows, for messages."""
    first = place(path, numbers[0])
    if len(numbers) == 1:
        return first
    before, _, number = first.rpartition(" ")
    listed = ", ".join([number, *map(str, numbers[1:_NAMED])])
    more = f", ... ({len(numbers)} in all)" if len(numbers) > _NAMED else ""
    return f"{before}s {listed}{more}"
