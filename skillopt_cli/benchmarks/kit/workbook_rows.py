"""Excel sheets as task files, their cells as shown; needs the package of the extra `sheets`."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_cli.benchmarks.kit.cell_formats import shown_moment, shown_number
from skillopt_cli.benchmarks.kit.programs import absent
from skillopt_cli.benchmarks.kit.table import column_names, row_record
from skillopt_cli.benchmarks.kit.text_file import Note
from skillopt_cli.benchmarks.kit.workbooks import WorkbookFault, opened, written_cells
from skillopt_cli.core.errors import DataError
from skillopt_cli.safe_files import read_regular

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

_NAMED = "tasks"
"""The sheet that is read where there are several."""

Rows = dict[int, dict[int, str]]
"""Texts that are not blank, by row and column from 1."""


def workbook_rows(path: Path, note: Note) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a sheet as records of texts, with their numbers.

    Of several sheets with content it is the one named tasks, else the first. A merged cell counts
    for each row that it covers.

    Raises:
        DataError: the package is missing, the file is no workbook, a formula has no value, or a row
            does not fit the columns.
    """
    if lacking := absent("openpyxl"):
        raise DataError(f"reading {path} needs {lacking}", "pip install 'skillopt-cli[sheets]'")
    try:
        content = read_regular(path)
        values, formulas = opened(content, values=True), opened(content, values=False)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    except WorkbookFault as error:
        raise DataError(
            f"{path}: {error}", "open it in Excel and save it as .xlsx, without a password"
        ) from error
    sheet = _chosen(values, path, note)
    rows = _rows(sheet, formulas, path) if sheet is not None else {}
    if not rows:
        raise DataError(f"{path} holds no tasks")
    first, *below = sorted(rows)
    width = max(column for row in rows.values() for column in row)
    names = column_names(_texts(rows[first], width), f"{path}, row {first}")
    for number in below:
        cells = _texts(rows[number], max(len(names), *rows[number]))
        if (record := row_record(names, cells, f"{path}, row {number}")) is not None:
            yield number, record


def _texts(row: Mapping[int, str], width: int) -> list[str]:
    return [row.get(column, "") for column in range(1, width + 1)]


def _chosen(book: Workbook, path: Path, note: Note) -> Worksheet | None:
    """The sheet with the tasks; None in a workbook without any content."""
    filled = [
        sheet
        for sheet in book.worksheets
        if sheet.sheet_state == "visible"
        and any(cell.value is not None for cell in written_cells(sheet))
    ]
    if len(filled) > 1:
        filled.sort(key=lambda sheet: sheet.title.strip().casefold() != _NAMED)
        others = ", ".join(f"`{sheet.title}`" for sheet in filled[1:])
        note(f"sheet `{filled[0].title}`, not {others}")
    return filled[0] if filled else None


def _rows(sheet: Worksheet, formulas: Workbook, path: Path) -> Rows:
    """The texts of a sheet.

    Raises:
        DataError: a cell holds an error, or a formula whose value is not stored.
    """
    rows: Rows = {}
    for cell in written_cells(sheet):
        if text := _shown(cell, path):
            rows.setdefault(cell.row, {})[cell.column] = text
    for cell in written_cells(formulas[sheet.title]):
        if cell.data_type == "f" and sheet[cell.coordinate].value is None:
            raise DataError(
                f"{path}, cell {cell.coordinate}: the formula has no stored value",
                "open the workbook in Excel and save it, or write the value itself",
            )
    _fill_merged(sheet, rows)
    return rows


def _fill_merged(sheet: Worksheet, rows: Rows) -> None:
    """Give each cell of a merged one its text, in rows that hold anything."""
    for area in sheet.merged_cells.ranges:
        text = rows.get(area.min_row, {}).get(area.min_col)
        if text is None:
            continue
        for number in [n for n in rows if area.min_row <= n <= area.max_row]:
            for column in range(area.min_col, min(area.max_col, max(rows[number]) + 1) + 1):
                rows[number][column] = text


def _shown(cell: Cell, path: Path) -> str:
    """The text of a cell, "" for a blank one.

    Raises:
        DataError: it shows an error.
    """
    value: object = cell.value
    if cell.data_type == "e":
        raise DataError(f"{path}, cell {cell.coordinate}: it shows {value}", "correct the cell")
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return shown_number(value, cell.number_format)
    if isinstance(value, datetime.date | datetime.time):
        return shown_moment(value, cell.number_format)
    if isinstance(value, datetime.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
    return _unescaped(str(value))


def _unescaped(text: str) -> str:
    """A text with the characters that a workbook holds as _x000D_ and the like."""
    from openpyxl.utils.escape import unescape

    return unescape(text).replace("\r\n", "\n")
