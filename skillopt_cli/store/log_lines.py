"""Lines of the event log as bytes: the next one, the last one, and where the last one ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from skillopt_cli.core.errors import DataError
from skillopt_cli.safe_files import open_regular

LONGEST_LINE = 1 << 26
"""Bytes of a line of the log, many times those of the largest fact."""
_TAIL_BLOCK = 1 << 16


def read_line(path: Path, number: int, log: BinaryIO) -> bytes:
    """The next line of a log; empty at its end and for a line that is not complete yet.

    Raises:
        DataError: it is longer than any fact.
    """
    line = log.readline(LONGEST_LINE)
    if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
        raise too_long(path, f"line {number}")
    return line if line.endswith(b"\n") else b""


def too_long(path: Path, where: str) -> DataError:
    """The error about a line of a log that is longer than any fact."""
    return DataError(
        f"{where} of {path} is longer than any fact: it has {LONGEST_LINE:,} bytes or more",
        "remove that line, or restore the file from a copy",
    )


def end_of_lines(path: Path) -> int:
    """Number of bytes up to and including the last line end."""
    with open_regular(path) as file:
        at = file.seek(0, os.SEEK_END)
        while at > 0:
            start = max(at - _TAIL_BLOCK, 0)
            file.seek(start)
            cut = file.read(at - start).rfind(b"\n")
            if cut >= 0:
                return start + cut + 1
            at = start
    return 0


def last_line(path: Path, end: int | None = None) -> bytes:
    """The last complete line, empty when there is none.

    Args:
        end: bytes of the log to look at, all of them unless given.
    """
    try:
        end = end_of_lines(path) if end is None else end
    except FileNotFoundError:
        return b""
    block = _TAIL_BLOCK
    with open_regular(path) as file:
        while True:
            start = max(end - block, 0)
            file.seek(start)
            lines = file.read(end - start).split(b"\n")
            if len(lines) > 2 or start == 0:
                return lines[-2] if len(lines) > 1 else b""
            if block > LONGEST_LINE:
                raise too_long(path, "the last line")
            block *= 2
