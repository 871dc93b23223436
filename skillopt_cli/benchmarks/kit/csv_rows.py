"""CSV files: the separator is what fits the rows below the first one."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.kit.table import column_names, row_record
from skillopt_cli.benchmarks.kit.text_file import Note, open_text
from skillopt_cli.core.errors import DataError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_OWN = {".tsv": "\t"}
"""Separators that the ending of a file promises; any other promises commas."""
_LONGEST_CELL = 1 << 27
"""A cell may hold a whole document; the library's own limit is 128 KiB."""
_HEAD = 1 << 16
_TRIED = 100
_DECLARED = re.compile(r'"?sep=([^"\s]|\t)"?\s*\Z', re.IGNORECASE)
"""The first line that names the separator for Excel."""
_FAULTS = {
    "unexpected end of data": "a quote that opens a cell is never closed",
    "expected after": "text follows the quote that closes a cell",
}


def csv_rows(path: Path, note: Note) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV file as records of texts, each with the line it ends on.

    Spaces behind a separator are no part of a cell; blank rows are skipped.

    Raises:
        DataError: the file cannot be read, or a row does not fit the columns.
    """
    # The library knows no limit per reader; a higher one does no harm to other readers of CSV.
    csv.field_size_limit(_LONGEST_CELL)
    with open_text(path, note) as file:
        form = _form(file.read(_HEAD), _OWN.get(path.suffix.lower(), ","), note)
        file.seek(0)
        if form.declared:
            file.readline()
        yield from _records(file, form, path)


@dataclass(frozen=True, slots=True)
class _Form:
    """How a table is written.

    Attributes:
        declared: whether its first line only names the separator.
    """

    separator: str
    quote: str
    declared: bool


def _form(head: str, own: str, note: Note) -> _Form:
    """The form of a table that begins with `head`.

    Args:
        own: the separator that goes without saying.
    """
    declared = _DECLARED.match(head.partition("\n")[0])
    separator = declared[1] if declared else _separator(head)
    quote = _quote(head)
    if separator != own:
        note(f"columns separated by {SEPARATORS.get(separator, f'`{separator}`')}")
    if quote != '"':
        note("cells in single quotes")
    return _Form(separator, quote, declared is not None)


def _records(lines: Iterable[str], form: _Form, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(
        _unpadded(lines, form),
        delimiter=form.separator,
        quotechar=form.quote,
        strict=True,
        skipinitialspace=True,
    )
    names: tuple[str, ...] = ()
    line = int(form.declared)
    try:
        for cells in reader:
            line = reader.line_num + form.declared
            place = f"{path}, line {line}"
            if not names and any(map(str.strip, cells)):
                names = _named(cells, place)
            elif names and (record := row_record(names, cells, place)) is not None:
                yield line, record
    except csv.Error as error:
        why = next((words for part, words in _FAULTS.items() if part in str(error)), str(error))
        raise DataError(
            f"{path}, line {line + 1}: {why}",
            f"in such a cell, write a quote twice: {form.quote * 2}; only a separator may follow",
        ) from error
    if not names:
        raise DataError(f"{path} holds no tasks")


def _unpadded(lines: Iterable[str], form: _Form) -> Iterator[str]:
    """The lines without spaces before separators, where the first line has such."""
    separator = re.escape(form.separator)
    spaces = re.compile(rf" +(?={separator}|\s*\Z)")
    padded = None
    for line in lines:
        if padded is None:
            padded = re.search(rf"\w{form.quote}? +{separator}", line) is not None
        yield spaces.sub("", line) if padded else line


def _named(cells: list[str], place: str) -> tuple[str, ...]:
    """The names of the columns.

    Raises:
        DataError: they are not named, or nothing that separates columns was found.
    """
    names = column_names(cells, place)
    if len(names) == 1 and re.search(r"[^\w-]", names[0]):
        raise DataError(
            f"{place}: there is one column only, `{names[0][:60]}`",
            f"separate columns by {', '.join(SEPARATORS.values())}",
        )
    return names


def _quote(head: str) -> str:
    """The mark around cells: a single quote where the first name is in such."""
    return "'" if re.match(r"\s*'\w+'", head) else '"'


def _separator(head: str) -> str:
    """The separator in the first row that fits most of the rows below it; else a comma."""
    fits = {mark: _fit(head, mark) for mark in SEPARATORS}
    best = max(fits, key=lambda mark: fits[mark])
    return best if fits[best] >= 0 else ","


def _fit(head: str, mark: str) -> float:
    """The share of rows with the cells of the first row; -1 where that row has one cell."""
    reader = csv.reader(
        StringIO(head, newline=""), delimiter=mark, quotechar=_quote(head), skipinitialspace=True
    )
    try:
        widths = [len(row) for row in islice(reader, _TRIED) if any(map(str.strip, row))]
    except csv.Error:
        return -1
    first, *below = widths or [0]
    if len(head) == _HEAD and len(widths) < _TRIED:
        below = below[:-1]  # may be a part of a row
    if first < 2:
        return -1
    return sum(width == first for width in below) / len(below) if below else 1.0
