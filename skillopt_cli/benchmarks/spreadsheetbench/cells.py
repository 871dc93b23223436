"""Cells as they are compared: the published transformation, and what differs between workbooks.

Source: the evaluation of Ma et al., "SpreadsheetBench" (2024).
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = float | str | Sequence[str]
"""A comparable value, as JSON: a number, a text, or type and text of something rarer."""

Cells: TypeAlias = Mapping[str, Mapping[str, Value]]
"""Values by sheet and cell. Blank cells are left out, sheets that are there are not."""

_DAY_ZERO = datetime.datetime(1899, 12, 30)
_NOT_A_NUMBER = ("number", "nan")
_SEVERAL = 20


def comparable(value: object) -> Value | None:
    """A cell's value as it is compared; None for a blank one.

    Numbers, truth values and texts that read as numbers are rounded to two places, moments to
    whole days of Excel's count; of times of day the last three characters fall off.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool | int | float):
        return _number(_float(value))
    if isinstance(value, datetime.time):
        return str(value)[:-3]
    if isinstance(value, datetime.datetime):
        passed = value - _DAY_ZERO
        return _number(round(passed.days + passed.seconds / 86400.0, 0))
    if isinstance(value, str):
        try:
            return _number(float(value))
        except ValueError:
            return value
    return (type(value).__name__, str(value))


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a workbook may hold a whole number of any length
        return math.inf if value > 0 else -math.inf


def _number(value: float) -> Value:
    # JSON knows no other numbers.
    return round(value, 2) if math.isfinite(value) else ("number", str(value))


@dataclass(frozen=True, slots=True)
class Difference:
    """A cell that is not as it should be; None stands for blank.

    Attributes:
        cell: such as "Sheet1!A1".
    """

    cell: str
    wanted: Value | None
    got: Value | None

    def __str__(self) -> str:
        return f"{self.cell}: gt={shown(self.wanted)} pred={shown(self.got)}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two workbooks' cells compared.

    Attributes:
        missing: sheets that are not there.
        right, wrong: how many of the cells that are not blank in both are equal, or not.
        differences: the first of those that are not.
    """

    missing: tuple[str, ...]
    right: int
    wrong: int
    differences: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        """Whether the answer is right."""
        return not self.missing and not self.wrong


def compare(wanted: Cells, got: Cells) -> Comparison:
    """Compare the cells of an answer with the reference's.

    Every sheet of the reference must be there; types must agree; text is compared to the letter.
    """
    missing = tuple(sheet for sheet in wanted if sheet not in got)
    right, differences = 0, list[Difference]()
    for sheet, cells in wanted.items():
        made = got.get(sheet)
        if made is None:
            continue
        for cell in sorted(cells.keys() | made.keys(), key=_place):
            one, other = cells.get(cell), made.get(cell)
            if _same(one, other):
                right += 1
            else:
                differences.append(Difference(f"{sheet}!{cell}", one, other))
    return Comparison(missing, right, len(differences), tuple(differences[:_SEVERAL]))


def shown(value: Value | None) -> str:
    """A value for people."""
    if value is None:
        return "(blank)"
    if isinstance(value, str):
        return repr(value)
    return f"{value:g}" if isinstance(value, float) and value == int(value) else _plain(value)


def _plain(value: Value) -> str:
    return str(value) if isinstance(value, float) else " ".join(value)


def _same(one: Value | None, other: Value | None) -> bool:
    if one is None or other is None or isinstance(one, str) or isinstance(other, str):
        return one == other
    if isinstance(one, float) or isinstance(other, float):
        return one == other
    # As everywhere, what is not a number equals nothing.
    return tuple(one) == tuple(other) != _NOT_A_NUMBER


def _place(cell: str) -> tuple[int, int, str]:
    """Rows before columns."""
    row = cell.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    column = cell.removesuffix(row)
    return int(row), len(column), column
