"""Reading workbooks that anybody may have made: bounded, and never a formula's old value unseen."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO

from openpyxl import Workbook, load_workbook
from openpyxl.cell.cell import Cell
from openpyxl.worksheet.worksheet import Worksheet

from skillopt_cli.benchmarks.spreadsheetbench.areas import Area
from skillopt_cli.benchmarks.spreadsheetbench.cells import Cells, Value, comparable

LARGEST = 60_000_000
"""Bytes of a workbook."""
_UNPACKED = 600_000_000
_FORMULA = re.compile(rb"<(?:\w+:)?f[ >/]")
_SHEETS = re.compile(r"xl/worksheets/.*\.xml")


class WorkbookFault(Exception):
    """A file cannot be read as a workbook; the text says why, in a few words."""


@dataclass(frozen=True, slots=True)
class Read:
    """What stands in the areas of a workbook.

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
    book = opened(content, values=True)
    sheets = {area.sheet: sheet for area in areas if (sheet := _sheet(book, area.sheet))}
    cells: dict[str, dict[str, Value]] = {name: {} for name in sheets}
    for area in areas:
        for place, value in _values(sheets, area):
            if (told := comparable(value)) is not None:
                cells[area.sheet][place] = told
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
    """The workbook with no formula's value: whoever opens it must compute them.

    Raises:
        WorkbookFault: it is no workbook, or too large.
    """
    saved = BytesIO()
    opened(content, values=False).save(saved)
    return saved.getvalue()


def opened(content: bytes, *, values: bool) -> Workbook:
    """The workbook, with formulas' values or with formulas.

    Raises:
        WorkbookFault: it is no workbook, or too large.
    """
    try:
        with zipfile.ZipFile(BytesIO(content)) as parts:
            if sum(part.file_size for part in parts.infolist()) > _UNPACKED:
                raise WorkbookFault("it is too large")
        with warnings.catch_warnings():
            # Of styles and extensions that are not kept, which nobody asks for here.
            warnings.simplefilter("ignore")
            return load_workbook(BytesIO(content), data_only=values)
    except WorkbookFault:
        raise
    # A file that a stranger's program wrote may be wrong in any way; the library has no error of
    # its own for that.
    except Exception as error:
        raise WorkbookFault(f"it is no readable workbook: {error}") from error


def _sheet(book: Workbook, name: str) -> Worksheet | None:
    sheet = book[name] if name in book.sheetnames else None
    return sheet if isinstance(sheet, Worksheet) else None  # a chart's sheet has no cells


def _values(sheets: dict[str, Worksheet], area: Area) -> Iterator[tuple[str, object]]:
    sheet = sheets.get(area.sheet)
    if sheet is None:
        return
    (top, left), (bottom, right) = area.first, area.last
    for cell in _cells(sheet):
        if top <= cell.row <= bottom and left <= cell.column <= right and cell.value is not None:
            yield cell.coordinate, cell.value


def _cells(sheet: Worksheet) -> Iterator[Cell]:
    """The cells that are there, row by row.

    The library's own iteration makes all cells between them: seventeen thousand million where one
    was written into the last corner.
    """
    for place in sorted(sheet._cells):
        cell = sheet._cells[place]
        if isinstance(cell, Cell):  # of merged ones only the first holds anything
            yield cell


def _has_formulas(content: bytes) -> bool:
    with zipfile.ZipFile(BytesIO(content)) as parts:
        return any(
            _FORMULA.search(parts.read(name))
            for name in parts.namelist()
            if _SHEETS.fullmatch(name)
        )


def _formulas(content: bytes, areas: Sequence[Area]) -> Iterator[str]:
    book = opened(content, values=False)
    for area in areas:
        sheet = _sheet(book, area.sheet)
        for place, _ in _values({area.sheet: sheet} if sheet else {}, area):
            if sheet is not None and sheet[place].data_type == "f":
                yield f"{area.sheet}!{place}"


def uncomputed(content: bytes) -> list[str]:
    """Cells whose formulas have no value, such as "Sheet1!B2".

    Raises:
        WorkbookFault: it is no workbook, or too large.
    """
    if not _has_formulas(content):
        return []
    formulas, values = opened(content, values=False), opened(content, values=True)
    return [
        f"{sheet.title}!{cell.coordinate}"
        for sheet in formulas.worksheets
        for cell in _cells(sheet)
        if cell.data_type == "f" and values[sheet.title][cell.coordinate].value is None
    ]
