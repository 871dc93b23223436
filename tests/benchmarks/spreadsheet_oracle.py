"""Which answer areas of two workbooks agree: a second reading of the published rules.

Plain and slow on purpose, and sharing nothing with the comparator but the library which opens a
workbook: it reads positions letter by letter and looks at one cell after another.
"""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path
from typing import Any

from openpyxl import load_workbook

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DAY_ZERO = datetime(1899, 12, 30)


def agree(golden: Path, found: Path, position: str) -> bool:
    """Whether every cell of `position` holds the same in both workbooks."""
    gold, told = load_workbook(golden, data_only=True), load_workbook(found, data_only=True)
    for part in parts_of(position):
        sheet, place = sheet_and_place(part)
        name = gold.sheetnames[0] if sheet is None else sheet
        if name not in gold.sheetnames or name not in told.sheetnames:
            return False
        deep = max(gold[name].max_row, told[name].max_row)
        wide = max(gold[name].max_column, told[name].max_column)
        for row, column in places_of(place, deep, wide):
            if not same(gold[name].cell(row, column).value, told[name].cell(row, column).value):
                return False
    return True


def same(one: Any, other: Any) -> bool:
    """Whether two cells with these values count as equal."""
    one, other = meant(one), meant(other)
    return type(one) is type(other) and bool(one == other)


def meant(value: Any) -> Any:
    """What is compared of a cell's value."""
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        since = value - DAY_ZERO
        return float(round(since.days + since.seconds / 86400))
    if isinstance(value, time):
        return str(value)[:-3]
    if isinstance(value, bool | int | float | str):
        try:
            return round(float(value), 2)
        except ValueError:
            return value
    return value


def parts_of(position: str) -> list[str]:
    """The areas between the commas which stand outside a quoted name."""
    parts, quoted = [""], False
    for sign in position:
        if sign == "'":
            quoted = not quoted
        if sign == "," and not quoted:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def sheet_and_place(part: str) -> tuple[str | None, str]:
    """`'It''s'!$A$1` as (It's, A1); no sheet is None."""
    at = part.rfind("!")
    place = part[at + 1 :].replace("'", "").replace("$", "").strip().upper()
    if at < 0:
        return None, place
    name = part[:at].strip()
    if name[0] == "'" and name[-1] == "'":
        name = name[1:-1].replace("''", "'")
    return name, place


def places_of(place: str, deep: int, wide: int) -> list[tuple[int, int]]:
    """Every (row, column) of an area; one without rows or columns ends where the sheets do."""
    ends = [corner(end) for end in place.split(":")]
    rows = [row for row, _ in ends if row] or [1, deep]
    columns = [column for _, column in ends if column] or [1, wide]
    return [
        (row, column)
        for row in range(min(rows), max(rows) + 1)
        for column in range(min(columns), max(columns) + 1)
    ]


def corner(text: str) -> tuple[int, int]:
    """`B3` as (3, 2), `B` as (0, 2), `3` as (3, 0)."""
    column = 0
    while text and text[0] in LETTERS:
        column = column * 26 + LETTERS.index(text[0]) + 1
        text = text[1:]
    return int(text or 0), column
