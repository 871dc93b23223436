"""Reading workbooks that anybody may have made: bounded, and never a formula's old value unseen."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, cast

from skillopt_cli.benchmarks.kit.workbooks import WorkbookFault, opened, written_cells
from skillopt_cli.benchmarks.spreadsheetbench.areas import Area
from skillopt_cli.benchmarks.spreadsheetbench.cells import Cells, Value, comparable

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

LARGEST = 60_000_000
"""Bytes of a workbook."""
_SHOWN_ROWS, _SHOWN_COLUMNS, _SHOWN_LETTERS = 5, 20, 40
_FORMULA = re.compile(rb"<(?:\w+:)?f[ >/]")
_SHEETS = re.compile(r"xl/worksheets/.*\.xml")


@dataclass(frozen=True, slots=True)
class Read:
    """The content of areas of a workbook.

    Attributes:
        formulas: cells there that hold formulas, such as "Sheet1!B2"; their values in `cells` are
            what the program that saved the file thought of them, if anything.
    """

    cells: Cells
    formulas: tuple[str, ...] = ()


def read(content: bytes, areas: Sequence[Area]) -> Read:
    """The values of the areas.

    Raises:
        WorkbookFault: it is no workbook, or too large.
    """
    sheets = _sheets(opened(content, values=True))
    cells: dict[str, dict[str, Value]] = {a.sheet: {} for a in areas if a.sheet in sheets}
    for area in areas:
        for cell in _filled(sheets, area):
            if (value := comparable(cell.value)) is not None:
                cells[area.sheet][cell.coordinate] = value
    return Read(cells, tuple(_formulas(content, areas)) if _has_formulas(content) else ())


def sheet_names(content: bytes) -> list[str]:
    """Names of all sheets, in order.

    Raises:
        WorkbookFault: it is no workbook, or too large.
    """
    return list(opened(content, values=True).sheetnames)


def settled(areas: Sequence[Area], names: Sequence[str]) -> tuple[Area, ...]:
    """The areas with the sheets' names as the reference spells them.

    A sheet's name in Excel is the same in any case; data may differ in blanks around it, too.

    Raises:
        WorkbookFault: the reference has no such sheet.
    """
    spelled = {name.strip().casefold(): name for name in reversed(names)}
    found = []
    for area in areas:
        name = area.sheet or names[0]
        name = name if name in names else spelled.get(name.strip().casefold(), "")
        if not name:
            raise WorkbookFault(f"it has no sheet `{area.sheet}`")
        found.append(replace(area, sheet=name))
    return tuple(found)


def without_values(content: bytes) -> bytes:
    """The workbook with no formula's value: a reader must compute them.

    Raises:
        WorkbookFault: it is no workbook, or too large.
    """
    saved = BytesIO()
    opened(content, values=False).save(saved)
    return saved.getvalue()


def preview(content: bytes) -> str:
    """What a target is shown of a workbook: each sheet's size and first rows, with formulas.

    Raises:
        WorkbookFault: it is no workbook, or too large.
    """
    sheets = _sheets(opened(content, values=False)).values()
    return "\n\n".join("\n".join(_preview_lines(sheet)) for sheet in sheets)


def _preview_lines(sheet: Worksheet) -> Iterator[str]:
    rows, columns = sheet.max_row, sheet.max_column
    size = f"rows up to {rows}, columns up to {columns}"
    yield f"Sheet `{sheet.title}` ({sheet.dimensions}; {size})"
    last_row, last_column = min(_SHOWN_ROWS, rows), min(_SHOWN_COLUMNS, columns)
    for row in sheet.iter_rows(max_row=last_row, max_col=last_column):
        filled = [f"{c.coordinate}={_shown(c.value)}" for c in row if c.value is not None]
        yield "  " + (" | ".join(filled) or f"(row {row[0].row} is blank)")
    if rows > _SHOWN_ROWS:
        yield f"  ({rows - _SHOWN_ROWS} more rows)"
    if columns > _SHOWN_COLUMNS:
        yield f"  ({columns - _SHOWN_COLUMNS} more columns)"


def _shown(value: object) -> str:
    # An array formula is an object of the library's, which holds its text.
    text = " ".join(str(getattr(value, "text", value)).split())
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}..."


def _sheets(book: Workbook) -> dict[str, Worksheet]:
    """The sheets by name, without those of charts, which have no cells."""
    return {sheet.title: cast("Worksheet", sheet) for sheet in book.worksheets}


def _filled(sheets: Mapping[str, Worksheet], area: Area) -> Iterator[Cell]:
    """The cells of an area that are not blank."""
    (top, left), (bottom, right) = area.first, area.last
    for cell in written_cells(sheets[area.sheet]) if area.sheet in sheets else ():
        if top <= cell.row <= bottom and left <= cell.column <= right and cell.value is not None:
            yield cell


def _has_formulas(content: bytes) -> bool:
    with zipfile.ZipFile(BytesIO(content)) as parts:
        return any(
            _FORMULA.search(parts.read(name))
            for name in parts.namelist()
            if _SHEETS.fullmatch(name)
        )


def _formulas(content: bytes, areas: Sequence[Area]) -> Iterator[str]:
    sheets = _sheets(opened(content, values=False))
    for area in areas:
        for cell in _filled(sheets, area):
            if cell.data_type == "f":
                yield f"{area.sheet}!{cell.coordinate}"


def uncomputed(content: bytes) -> list[str]:
    """Cells whose formulas have no value, such as "Sheet1!B2".

    Raises:
        WorkbookFault: it is no workbook, or too large.
    """
    if not _has_formulas(content):
        return []
    values = _sheets(opened(content, values=True))
    return [
        f"{name}!{cell.coordinate}"
        for name, sheet in _sheets(opened(content, values=False)).items()
        for cell in written_cells(sheet)
        if cell.data_type == "f" and values[name][cell.coordinate].value is None
    ]
