"""What is read of a task file, from the table of the docs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet
from reading_tables import rows

from skillopt_cli.benchmarks.kit.json_stream import WrittenFloat
from skillopt_cli.benchmarks.kit.records import read_records, single_file
from skillopt_cli.core.errors import DataError

TABLE = rows("6_task_files")


def write(path: Path, row: Mapping[str, Any]) -> None:
    """Write the file that a row of the table describes."""
    content, saved = row["content"], row.get("saved", "")
    if isinstance(content, str):
        path.write_bytes(content.encode(saved or "utf-8"))
    elif path.suffix.lower() == ".parquet":
        pq.write_table(pa.table(dict(content)), path)
    else:
        sheets = content if isinstance(content, Mapping) else {"Sheet": content}
        write_workbook(path, sheets, saved.removesuffix(" merged"))


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Any]], merged: str = "") -> None:
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, lines in sheets.items():
        sheet = book.create_sheet(title)
        for number, line in enumerate(lines, start=1):
            write_row(sheet, number, line)
        if merged:
            sheet.merge_cells(merged)
    book.save(path)


def write_row(sheet: Worksheet, number: int, line: Sequence[Any]) -> None:
    for column, cell in enumerate(line, start=1):
        formatted = isinstance(cell, Mapping)
        written = sheet.cell(number, column, cell["value"] if formatted else cell)
        if formatted:
            written.number_format = cell["format"]


def plain(value: Any) -> Any:
    """A value without what is not there; a number whose text is kept as that text."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, WrittenFloat) else value


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row['file']}-{TABLE.index(row)}")
def test_what_is_read_of_a_task_file(tmp_path: Path, row: Mapping[str, Any]) -> None:
    path = tmp_path / row["file"]
    write(path, row)
    notes: list[str] = []
    if "fault" in row:
        with pytest.raises(DataError) as caught:
            list(read_records(single_file(path), notes.append))
        assert str(path) in caught.value.message
        assert row["fault"] in caught.value.message
        return
    records = [plain(record.data) for record in read_records(single_file(path), notes.append)]
    assert records == row["records"]
    assert ", ".join(notes) == row.get("shown", "")
