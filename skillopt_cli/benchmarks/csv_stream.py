"""CSV files read as a stream of rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillopt_cli.core.errors import DataError

_LONGEST_FIELD = 1 << 27
"""A cell may hold a whole document; the library's own limit is 128 KiB."""


def csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV file as objects of texts, each with the line it ends on.

    The first line names the columns. A byte-order mark is ignored.

    Raises:
        DataError: the file cannot be read, is not UTF-8, or a row does not fit the columns.
    """
    # The library knows no limit per reader; a higher one does no harm to whoever else reads CSV.
    csv.field_size_limit(_LONGEST_FIELD)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = reader.fieldnames or ()
            if not names or len(set(names)) < len(names):
                raise DataError(f"{path}: the first line must name each column once")
            for row in reader:
                if None in row or None in row.values():
                    raise DataError(
                        f"{path}, line {reader.line_num}: the row has not {len(names)} cells",
                        "put cells that hold commas or line breaks in quotes",
                    )
                yield reader.line_num, row
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a CSV file in UTF-8: {error}") from error
