"""The place of a task's answer in a workbook: "'Q1, 2020'!$A$1:B9,C:C" as areas of cells."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ZERO = re.compile(r"(?<!\d)0")
LAST_ROW, LAST_COLUMN = 1_048_576, 16_384

Corner = tuple[int, int]
"""Row and column of a cell, from 1."""


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of cells.

    Attributes:
        sheet: its name as written; empty for the reference's first sheet.
        first, last: two opposite corners, both included.
    """

    sheet: str
    first: Corner
    last: Corner


def read_areas(position: str, sheet: str = "") -> tuple[Area, ...]:
    """The areas that an answer position names, at least one.

    Known are quoted sheet names with whatever in them, unquoted ones with spaces and commas, `$`,
    lower-case references, whole columns and rows, corners in any order, and blanks around commas.

    Args:
        sheet: where parts without a sheet of their own lie.

    Raises:
        ValueError: a part is no reference; the message names it.
    """
    areas: list[Area] = []
    waiting: list[str] = []
    for piece in _split(position):
        waiting.append(piece)
        area = _area(",".join(waiting), sheet)
        if area is not None:
            areas.append(area)
            waiting = []
    if "".join(waiting).strip():
        raise ValueError(f"`{','.join(waiting).strip()}` is no reference to cells")
    if not areas:
        raise ValueError("it names no cells")
    return tuple(areas)


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


def _area(text: str, sheet: str) -> Area | None:
    """The area of a text; None when it is none so far: its sheet's name goes on."""
    whole = text.strip()
    if len(whole) > 1 and whole[0] == whole[-1] == "'" and "'!" not in whole:
        whole = whole[1:-1]  # quotes around the whole, as in 'Sheet1!A1:B2'
    name, _, reference = whole.rpartition("!")
    corners = _corners(reference.strip().strip("'").strip())
    return Area(_unquoted(name.strip()) or sheet, *corners) if corners else None


def _unquoted(name: str) -> str:
    if len(name) > 1 and name[0] == name[-1] == "'":
        return name[1:-1].replace("''", "'")
    # Half of a pair that went around the whole, as in 'Sheet1!A1:B2'.
    return name.strip("'") if name.count("'") == 1 else name


def _corners(reference: str) -> tuple[Corner, Corner] | None:
    """First and last cell; None for no reference. A column or row alone must be a range."""
    from openpyxl.utils.cell import range_boundaries

    if not reference or not reference.isascii() or _ZERO.search(reference):
        return None
    try:
        left, top, right, bottom = range_boundaries(reference)
    except ValueError:
        return None
    if ":" not in reference and not (left and top):
        return None
    rows = sorted((top or 1, bottom or LAST_ROW))
    columns = sorted((left or 1, right or LAST_COLUMN))
    return (rows[0], columns[0]), (rows[1], columns[1])
