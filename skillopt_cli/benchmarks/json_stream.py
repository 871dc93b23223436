"""JSON files read as a stream: a large list is never in memory as text and as objects at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from skillopt_cli.core.errors import DataError

_CHUNK = 1 << 16
_SPACE = " \t\r\n"


class Malformed(ValueError):
    """Text that is valid JSON for Python's parser, but not for us; the message says why."""


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The values of a JSON Lines file with their line numbers, from 1; blank lines are skipped.

    Lines end at line feeds only, so U+2028 may stand inside a line. A byte-order mark is ignored.

    Raises:
        DataError: the file cannot be read, or a line is not JSON in UTF-8.
    """
    decoder = _decoder()
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if not line.strip():
                    continue
                try:
                    yield number, decoder.decode(line.decode())
                except (ValueError, RecursionError) as error:
                    raise _not_json(path, number, error) from error
    except OSError as error:
        raise _unreadable(path, error) from error


def json_list(path: Path) -> Iterator[tuple[int, Any]]:
    """The items of a JSON list, or of the list under "data", with their numbers, from 1.

    A plain list is streamed; an object is read as a whole. A byte-order mark is ignored.

    Raises:
        DataError: the file cannot be read, is not JSON in UTF-8, or holds something else.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            window = _Window(file)
            try:
                if window.peek() == "[":
                    yield from enumerate(window.items(), start=1)
                else:
                    yield from enumerate(_listed(path, window.only()), start=1)
            except (ValueError, RecursionError) as error:
                raise _not_json(path, window.line, error) from error
    except OSError as error:
        raise _unreadable(path, error) from error


class _Window:
    """A stretch of a JSON text: grows while a value is incomplete, and forgets what was read."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._decoder = _decoder()
        self._text = ""
        self._at = 0
        self._lines_before = 0

    @property
    def line(self) -> int:
        """The line being read, from 1."""
        return self._lines_before + self._text.count("\n", 0, self._at) + 1

    def items(self) -> Iterator[Any]:
        """The items of the list that starts here; nothing but space may follow it."""
        self._at += 1
        closed = self.peek() == "]"
        while not closed:
            yield self._value()
            mark = self.peek()
            if mark not in (",", "]"):
                raise Malformed("a comma or `]` is missing")
            closed = mark == "]"
            self._at += not closed
        self._at += 1
        self._end()

    def only(self) -> Any:
        """The one value of the text."""
        value = self._value()
        self._end()
        return value

    def peek(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def _value(self) -> Any:
        if not self.peek():
            raise Malformed("the text ends where a value should stand")
        while True:
            try:
                value, self._at = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                inside = error.pos - self._at
                if not self._grow():
                    self._at = inside
                    raise Malformed(error.msg) from error
            else:
                return value

    def _end(self) -> None:
        if self.peek():
            raise Malformed("more text follows the end; a file of one record per line is .jsonl")

    def _grow(self) -> bool:
        """Forget what was read, and read at least as much again as is left."""
        self._lines_before = self.line - 1
        rest = self._text[self._at :]
        more = self._file.read(max(_CHUNK, len(rest)))
        self._text, self._at = rest + more, 0
        return bool(more)


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [key for key, _ in pairs]
        repeated = next(key for key in names if names.count(key) > 1)
        raise Malformed(f"the key `{repeated}` is given twice")
    return made


def _no_constant(name: str) -> Any:
    raise Malformed(f"{name} is not a JSON number")


def _listed(path: Path, value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        return list(value["data"])
    raise DataError(
        f"{path}: holds neither a list of records nor an object with a list under `data`",
        'write [{"id": ...}, ...], or one record per line in a .jsonl file',
    )


def _not_json(path: Path, line: int, error: Exception) -> DataError:
    if isinstance(error, UnicodeDecodeError):
        return DataError(
            f"{path}, line {_first_bad_line(path)}: not UTF-8 text", "save the file as UTF-8"
        )
    if isinstance(error, RecursionError):
        return DataError(f"{path}, line {line}: nested too deeply")
    why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return DataError(f"{path}, line {line}: not valid JSON ({why})")


def _first_bad_line(path: Path) -> int:
    """Where UTF-8 ends; decoding runs ahead of parsing, so the parser's line would be too early."""
    data = path.read_bytes()
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1
    return 1


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"cannot read {path}: {error.strerror or error}")
