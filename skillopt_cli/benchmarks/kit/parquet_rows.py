"""Parquet files as task files, through the package of the extra `parquet`."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from skillopt_cli.benchmarks.kit.programs import absent
from skillopt_cli.benchmarks.kit.table import with_lists
from skillopt_cli.benchmarks.kit.text_file import Note
from skillopt_cli.core.errors import DataError
from skillopt_cli.safe_files import MOST_DATA, open_regular

_ROWS = 1000
"""Rows that are in memory at a time."""


def parquet_rows(path: Path, note: Note) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file as records, with their numbers, from 1.

    Raises:
        DataError: the package is missing, or the file is no Parquet file.
    """
    if lacking := absent("pyarrow"):
        raise DataError(f"reading {path} needs {lacking}", "pip install 'skillopt-cli[parquet]'")
    for number, row in enumerate(_read(path), start=1):
        yield number, with_lists(_plain(row), f"{path}, record {number}")


def _read(path: Path) -> Iterator[dict[str, Any]]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with open_regular(path, most=MOST_DATA) as raw, ParquetFile(raw) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                yield from batch.to_pylist()
    # Of a damaged file, some readers of the library find counts and texts that cannot be.
    except (ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        why = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise DataError(f"cannot read {path} as Parquet: {why}", "write the file again") from error


def _plain(value: Any) -> Any:
    """A value with nothing in it that JSON does not know, but bytes."""
    match value:
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() if not math.isfinite(value):
            return None
        case datetime.date() | datetime.time() | datetime.timedelta() | Decimal() | UUID():
            return str(value)
        case _:
            return value
