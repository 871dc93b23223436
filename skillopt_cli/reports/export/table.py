"""A table for other programs, as CSV, JSON Lines or Parquet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skillopt_cli.benchmarks.kit.programs import absent
from skillopt_cli.core.errors import UsageError

Type = Literal["text", "texts", "count", "number", "numbers", "flag"]
FORMULA = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
"""What a spreadsheet takes for the beginning of a formula; the last four are full-width."""
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `texts` and `numbers` hold lists; any cell but a list may be None."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class ExportTable:
    """Rows with a cell for each column, None where something is unknown."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]


def as_csv(table: ExportTable) -> bytes:
    """The table as UTF-8 CSV with a row of titles, commas and quoted texts; unknown is empty.

    A list of one text is that text, any other a JSON list. Texts that a spreadsheet would take for
    a formula have an apostrophe before them; numbers, and texts that are plain numbers, never do.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([_harmless(column.name) for column in table.columns])
    for row in table.rows:
        writer.writerow(map(_cell, row))
    return _utf8(file.getvalue())


def as_jsonl(table: ExportTable) -> bytes:
    """The table as UTF-8 JSON Lines, an object with every column for each row."""
    names = [column.name for column in table.columns]
    return _utf8(
        "".join(
            f"{json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False)}\n"
            for row in table.rows
        )
    )


def as_parquet(table: ExportTable) -> bytes:
    """The table as Parquet, through the package of the extra `parquet`.

    Raises:
        UsageError: the package is not installed.
    """
    if lacking := absent("pyarrow"):
        raise UsageError(f"writing Parquet needs {lacking}", "pip install 'skillopt-cli[parquet]'")
    import pyarrow
    from pyarrow import parquet

    types = {
        "text": pyarrow.string(),
        "texts": pyarrow.list_(pyarrow.string()),
        "count": pyarrow.int64(),
        "number": pyarrow.float64(),
        "numbers": pyarrow.list_(pyarrow.float64()),
        "flag": pyarrow.bool_(),
    }
    cells = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    arrays = [
        pyarrow.array([_whole(cell) for cell in column], types[about.type])
        for about, column in zip(table.columns, cells, strict=True)
    ]
    file = io.BytesIO()
    made = pyarrow.Table.from_arrays(arrays, [column.name for column in table.columns])
    parquet.write_table(made, file)
    return file.getvalue()


WRITERS: Mapping[str, Callable[[ExportTable], bytes]] = {
    "csv": as_csv,
    "jsonl": as_jsonl,
    "parquet": as_parquet,
}
"""How a table is written, by format."""


def _cell(value: Any) -> Any:
    """A value as a cell of CSV."""
    match value:
        case str():
            return _harmless(value)
        case bool():
            return "true" if value else "false"
        case [str(text)]:
            return _harmless(text)
        case list() | tuple():
            return json.dumps(value, ensure_ascii=False) if value else None
        case _:
            return value


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(tuple(FORMULA)) and not _NUMBER.match(text) else text


def _utf8(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


def _whole(value: Any) -> Any:
    """A value without half surrogate pairs, which UTF-8 has no bytes for."""
    match value:
        case str():
            return _utf8(value).decode()
        case list() | tuple():
            return [_whole(each) for each in value]
        case _:
            return value
