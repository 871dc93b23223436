"""Text files in UTF-8, or in UTF-16 or UTF-32; others are refused by line, with a way out."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from skillopt_cli.core.errors import DataError
from skillopt_cli.safe_files import MOST_DATA, open_regular, read_regular

Note = Callable[[str], None]
"""Takes in how a file was read, where its name does not show it."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    # Before UTF-16, whose mark it begins with.
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NO_TEXT = {
    b"PK\x03\x04": "a ZIP archive, such as an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old or encrypted Office file",
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "compressed",
    b"%PDF": "a PDF file",
    b"SQLite format 3": "a database",
}
_LONGEST = 40


@contextmanager
def open_text(path: Path, note: Note, newline: str = "") -> Iterator[TextIO]:
    """A text file, its encoding taken from a byte-order mark or the zero bytes of UTF-16.

    Args:
        newline: as of `open`; the ends of lines stay as they are.

    Raises:
        DataError: the file cannot be read or is not such text, also while it is being read.
    """
    try:
        with open_regular(path) as raw:
            head = raw.read(16)
        encoding = _encoding(path, head)
        if encoding != "utf-8-sig":
            note(f"text in {encoding[:6].upper()}")
        with (
            open_regular(path, most=MOST_DATA) as raw,
            TextIOWrapper(raw, encoding=encoding, newline=newline) as file,
        ):
            yield file
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        if encoding != "utf-8-sig":
            raise DataError(
                f"{path} is not text in {encoding[:6].upper()}: {error.reason}"
            ) from error
        raise _not_utf8(path) from error


def _encoding(path: Path, head: bytes) -> str:
    for begin, what in _NO_TEXT.items():
        if head.startswith(begin):
            raise DataError(
                f"{path} is no text: it is {what}",
                "give it the ending of what it is, .xlsx or .parquet, or save it as text",
            )
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    # Each format begins with a character of ASCII, which leaves one of two bytes zero.
    if head[:2].count(0) == 1:
        return "utf-16-be" if head[0] == 0 else "utf-16-le"
    return "utf-8-sig"


def _not_utf8(path: Path) -> DataError:
    """The error for a file that is not UTF-8, with the place and a reading as Windows has it."""
    data = read_regular(path)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        before = re.search(rb"[^\s,;|\t\"]*\Z", data[max(0, error.start - _LONGEST) : error.start])
        after = re.match(rb"[^\s,;|\t\"]*", data[error.start : error.start + _LONGEST])
        word = ((before[0] if before else b"") + (after[0] if after else b"")).decode(
            "cp1252", "replace"
        )
        return DataError(
            f"{path}, line {line}: not UTF-8 text; as Windows-1252 it reads `{word}`",
            "save the file as UTF-8; if that word is right,"
            f" `iconv -f WINDOWS-1252 -t UTF-8 {path} > NEW` does it",
        )
    return DataError(f"{path}: not UTF-8 text", "save the file as UTF-8")
