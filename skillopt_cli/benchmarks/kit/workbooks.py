"""Workbooks that anybody may have made, opened within bounds."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

_UNPACKED = 600_000_000


class WorkbookFault(Exception):
    """A file cannot be read as a workbook; the text gives the reason in a few words."""


def opened(content: bytes, *, values: bool) -> Workbook:
    """The workbook, with formulas' values or with formulas.

    Raises:
        WorkbookFault: it is no workbook, or too large.
    """
    from openpyxl import load_workbook

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


def written_cells(sheet: Worksheet) -> Iterator[Cell]:
    """The cells that are there, row by row.

    The library's own iteration makes all cells between them: seventeen thousand million where one
    was written into the last corner.
    """
    return (cast("Cell", sheet._cells[place]) for place in sorted(sheet._cells))
