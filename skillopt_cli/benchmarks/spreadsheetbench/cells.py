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
class CellComparison:
    """Two workbooks' cells compared.

    Attributes:
        missing: sheets that are not there.
        right, wrong: how many of the cells that are not blank in both are equal, or not.
        differences: "Sheet1!A1: gt=1 pred=2" for the first of those that are not.
        told: the same without what was wanted.
    """

    missing: tuple[str, ...]
    right: int
    wrong: int
    differences: tuple[str, ...]
    told: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether the answer is right."""
        return not self.missing and not self.wrong


def compare(wanted: Cells, got: Cells) -> CellComparison:
    """Compare the cells of an answer with the reference's.

    Every sheet of the reference must be there; types must agree; text is compared to the letter.
    """
    from openpyxl.utils.cell import coordinate_to_tuple

    missing = tuple(sheet for sheet in wanted if sheet not in got)
    right, wrong = 0, list[tuple[str, Value | None, Value | None]]()
    for sheet, cells in wanted.items():
        made = got.get(sheet)
        if made is None:
            continue
        for cell in sorted(cells.keys() | made.keys(), key=coordinate_to_tuple):
            one, other = cells.get(cell), made.get(cell)
            if _same(one, other):
                right += 1
            else:
                wrong.append((f"{sheet}!{cell}", one, other))
    first = wrong[:_SEVERAL]
    differences = (f"{cell}: gt={shown(one)} pred={shown(other)}" for cell, one, other in first)
    told = (f"{cell} holds {shown(other)}" for cell, _, other in first)
    return CellComparison(missing, right, len(wrong), tuple(differences), tuple(told))


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
    plain = (str, float, type(None))
    if isinstance(one, plain) or isinstance(other, plain):
        return one == other
    # As everywhere, what is not a number equals nothing.
    return tuple(one) == tuple(other) != _NOT_A_NUMBER
