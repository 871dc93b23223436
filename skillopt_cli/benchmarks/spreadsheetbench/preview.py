"""What a target is shown of a workbook: each sheet's size and its first rows."""

from __future__ import annotations

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from skillopt_cli.benchmarks.spreadsheetbench.workbook import opened

ROWS, COLUMNS, LETTERS = 5, 20, 40


def preview(content: bytes) -> str:
    """The sheets of a workbook, formulas as they are written.

    Raises:
        WorkbookFault: it is no workbook.
    """
    return "\n\n".join(_sheets(opened(content, values=False)))


def _sheets(book: Workbook) -> list[str]:
    sheets = [sheet for sheet in book.worksheets if isinstance(sheet, Worksheet)]
    return ["\n".join(_lines(sheet)) for sheet in sheets]


def _lines(sheet: Worksheet) -> list[str]:
    last_row, last_column = sheet.max_row, sheet.max_column
    size = f"rows up to {last_row}, columns up to {last_column}"
    lines = [f"Sheet `{sheet.title}` ({sheet.dimensions}; {size})"]
    for row in sheet.iter_rows(max_row=min(ROWS, last_row), max_col=min(COLUMNS, last_column)):
        filled = [
            f"{cell.coordinate}={_shown(cell.value)}" for cell in row if cell.value is not None
        ]
        lines.append("  " + (" | ".join(filled) or f"(row {row[0].row} is blank)"))
    if last_row > ROWS:
        lines.append(f"  ({last_row - ROWS} more rows)")
    if last_column > COLUMNS:
        lines.append(f"  ({last_column - COLUMNS} more columns)")
    return lines


def _shown(value: object) -> str:
    # An array formula is an object of the library's, whose text stands in it.
    text = " ".join(str(getattr(value, "text", value)).split())
    return text if len(text) <= LETTERS else f"{text[:LETTERS]}..."
