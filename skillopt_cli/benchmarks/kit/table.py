"""Tables of texts as records: the first row names the columns, blank rows are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillopt_cli.benchmarks.kit.choices import split_options
from skillopt_cli.benchmarks.kit.json_stream import json_value
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.formatting import count

_LISTS = ("answers", "choices")
"""Columns in whose cells a JSON list is several values."""
_SPACE = " \t\r\n\u00a0\ufeff"


def column_names(cells: Sequence[str], place: str) -> tuple[str, ...]:
    """The names of the columns, "" for a column without one, which none is at the end.

    Args:
        place: of the row that names them.

    Raises:
        DataError: there is no name, or one is given twice.
    """
    names = [" ".join(cell.strip(_SPACE).split()) for cell in cells]
    while names and not names[-1]:
        names.pop()
    hint = "the first row has to name each column once, without merged cells or a title above it"
    if not names:
        raise DataError(f"{place}: no column has a name", hint)
    twice = next((name for name in names if name and names.count(name) > 1), "")
    if twice:
        raise DataError(f"{place}: the column `{twice}` is named more than once", hint)
    return tuple(names)


def row_record(names: Sequence[str], cells: Sequence[str], place: str) -> dict[str, Any] | None:
    """A row as a record: None under the name of a blank cell; no record for a blank row.

    A first column without a name is passed over, as it holds the numbers of the rows.

    Raises:
        DataError: the row does not fit the columns, or a cell cannot be read.
    """
    if not any(cell.strip(_SPACE) for cell in cells):
        return None
    last = max((i for i, cell in enumerate(cells, start=1) if cell.strip(_SPACE)), default=0)
    if len(cells) < len(names) or last > len(names):
        held = count(max(last, min(len(cells), len(names))), "cell")
        raise DataError(
            f"{place}: the row has {held}, the first row names {count(len(names), 'column')}",
            "name each column, and put a cell that holds a separator or a line break in quotes",
        )
    for number, (name, cell) in enumerate(zip(names, cells, strict=False), start=1):
        if not name and number > 1 and cell.strip(_SPACE):
            raise DataError(f"{place}: column {number} has no name", "name it in the first row")
    found = {name: cell for name, cell in zip(names, cells, strict=False) if name}
    return with_lists({k: v if v.strip(_SPACE) else None for k, v in found.items()}, place)


def with_lists(record: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A table's record with the lists that texts under `answers` and `choices` are.

    Raises:
        DataError: the options of `choices` cannot be distinguished.
    """
    return {key: _listed(key, value, place) for key, value in record.items()}


def _listed(name: str, value: Any, place: str) -> Any:
    key = name.casefold()
    if not isinstance(value, str) or key not in _LISTS:
        return value
    text = value.strip(_SPACE)
    if text.startswith("["):
        try:
            items = json_value(text)
        except (ValueError, RecursionError):
            items = None
        if isinstance(items, list):
            return items
    if key != "choices":
        return value
    options = [] if text.startswith("[") else split_options(text)
    if not options:
        raise DataError(
            f"{place}: the options in `{name}` cannot be distinguished: {text[:60]}",
            'write a JSON list, ["one", "two"], or `A) one | B) two`',
        )
    return options
