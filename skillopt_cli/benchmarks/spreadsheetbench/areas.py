"""Where a task's answer stands in a workbook: "'Q1, 2020'!$A$1:B9,C:C" as areas of cells."""

from __future__ import annotations

import re
from dataclasses import dataclass

from openpyxl.utils import column_index_from_string

_CORNER = r"\$?([A-Z]{1,3})?\$?([1-9]\d*)?"
_RANGE = re.compile(rf"{_CORNER}(?::{_CORNER})?", re.IGNORECASE)
LAST_ROW, LAST_COLUMN = 1_048_576, 16_384


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of cells.

    Attributes:
        sheet: its name as written; empty for the reference's first sheet.
        first, last: row and column of two opposite corners, from 1, both included.
    """

    sheet: str
    first: tuple[int, int]
    last: tuple[int, int]


def read_areas(position: str, sheet: str = "") -> tuple[Area, ...]:
    """The areas that an answer position names, at least one.

    Known are quoted sheet names with whatever in them, unquoted ones with spaces and commas, `$`,
    lower-case references, whole columns and rows, corners in any order, and blanks around commas.

    Args:
        sheet: where parts without a sheet of their own lie.

    Raises:
        ValueError: a part is no reference; the message names it.
    """
    areas = [_area(name or sheet, reference) for name, reference in _parts(position)]
    if not areas:
        raise ValueError("it names no cells")
    return tuple(areas)


def _parts(position: str) -> list[tuple[str, str]]:
    """Sheet and reference of each part."""
    found: list[tuple[str, str]] = []
    waiting: list[str] = []
    for piece in _split(position):
        waiting.append(piece)
        part = _part(",".join(waiting))
        if part is not None:
            found.append(part)
            waiting = []
    if "".join(waiting).strip():
        raise ValueError(f"`{','.join(waiting).strip()}` is no reference to cells")
    return found


def _split(text: str) -> list[str]:
    """The text cut at commas that do not stand in quotes; those open where a part begins."""
    pieces, quoted = [""], False
    for letter in text:
        if letter == "," and not quoted:
            pieces.append("")
            continue
        if letter == "'":
            quoted = not quoted if quoted or not pieces[-1].strip(" '") else False
        pieces[-1] += letter
    return text.split(",") if quoted else pieces  # one that is never closed quotes nothing


def _part(text: str) -> tuple[str, str] | None:
    """Sheet and reference; None when the text, so far, is none: its sheet's name goes on."""
    whole = text.strip()
    if len(whole) > 1 and whole[0] == whole[-1] == "'" and "'!" not in whole:
        whole = whole[1:-1]  # quotes around the whole, as in 'Sheet1!A1:B2'
    name, _, reference = whole.rpartition("!")
    reference = reference.strip().strip("'").strip()
    if not reference or not _RANGE.fullmatch(reference) or not _closed(reference):
        return None
    return _unquoted(name.strip()), reference


def _unquoted(name: str) -> str:
    if len(name) > 1 and name[0] == name[-1] == "'":
        return name[1:-1].replace("''", "'")
    # Half of a pair that went around the whole, as in 'Sheet1!A1:B2'.
    return name.strip("'") if name.count("'") == 1 else name


def _closed(reference: str) -> bool:
    """Whether the corners fit: two cells, two columns or two rows; one alone must be a cell."""
    match = _RANGE.fullmatch(reference)
    assert match is not None
    column, row, second_column, second_row = match.groups()
    if ":" not in reference:
        return bool(column and row)
    first, second = (bool(column), bool(row)), (bool(second_column), bool(second_row))
    return any(first) and first == second


def _area(sheet: str, reference: str) -> Area:
    match = _RANGE.fullmatch(reference)
    assert match is not None
    column, row, second_column, second_row = match.groups()
    if ":" not in reference:
        second_column, second_row = column, row
    columns = _ordered(_column(column, 1), _column(second_column, LAST_COLUMN))
    rows = _ordered(int(row or 1), int(second_row or LAST_ROW))
    return Area(sheet, (rows[0], columns[0]), (rows[1], columns[1]))


def _column(letters: str | None, default: int) -> int:
    return column_index_from_string(letters.upper()) if letters else default


def _ordered(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)
