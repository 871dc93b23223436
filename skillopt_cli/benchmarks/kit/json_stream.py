"""Streaming reader of JSON and JSON Lines: a large list is never in memory as a whole."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from skillopt_cli.benchmarks.kit.json_faults import Malformed, fault, is_placed, not_json
from skillopt_cli.benchmarks.kit.text_file import Note, open_text
from skillopt_cli.core.errors import DataError

_CHUNK = 1 << 16
_SPACE = " \t\r\n\ufeff"
"""White space between values, with the mark at the beginning of each of several joined files."""
_COMMENT = ("//", "#")
_MOST_DIGITS = 4000
"""Digits of a whole number; Python itself converts some more."""


class WrittenFloat(float):
    """A number whose text is that of the file: 1.50 and 1e5 stay so."""

    def __new__(cls, text: str | float) -> WrittenFloat:
        """The number that a text is."""
        made = super().__new__(cls, text)
        made.text = str(text)
        return made

    text: str

    def __str__(self) -> str:
        return self.text


def json_lines(path: Path, note: Note) -> Iterator[tuple[int, Any]]:
    """The values of a JSON Lines file with their line numbers, from 1.

    Blank lines and those that begin with `//` or `#` are skipped, and so is a comma at the end of
    a line. Lines end at line feeds only, so a line may hold U+2028. A file that begins with `[`
    is read as a list.

    Raises:
        DataError: the file cannot be read, or a line is not JSON.
    """
    decoder = _decoder()
    # Lines may end with \r\n; a lone \r is none of the format's ends.
    with open_text(path, note, newline="\n") as file:
        first = True
        for number, raw in enumerate(file, start=1):
            line = raw.strip(_SPACE)
            if not line or line.startswith(_COMMENT):
                continue
            if first and line.startswith("["):
                note("a list of JSON")
                break
            first = False
            try:
                yield number, decoder.decode(line.removesuffix(","))
            except (ValueError, RecursionError) as error:
                inside = raw.index(line[0]) + error.pos + 1 if is_placed(error) else 0
                raise not_json(path, number, inside, error) from error
        else:
            return
    yield from json_list(path, note)


def json_list(path: Path, note: Note) -> Iterator[tuple[int, Any]]:
    """The records of a JSON file with their numbers, from 1.

    They are a list, the one list of objects in an object, as under "data", an object per id, or
    one object per line. A plain list is streamed; an object is read as a whole.

    Raises:
        DataError: the file cannot be read, is not JSON, or holds something else.
    """
    if _holds_lines(path):
        note("an object per line")
        yield from ((n, value) for n, (_, value) in enumerate(json_lines(path, _unnoted), start=1))
        return
    with open_text(path, note) as file:
        window = _Window(file)
        try:
            if window.peek() == "[":
                yield from enumerate(window.items(), start=1)
            else:
                yield from enumerate(_listed(path, window.only(), note), start=1)
        except UnicodeDecodeError:
            raise
        except (ValueError, RecursionError) as error:
            raise not_json(path, window.line, window.column, error) from error


def json_value(text: str) -> Any:
    """The value of a JSON text, its numbers as written.

    Raises:
        ValueError, RecursionError: it is no JSON.
    """
    return _decoder().decode(text)


def _unnoted(note: str) -> None:
    """Drop what another reader has noted."""


def _holds_lines(path: Path) -> bool:
    """Whether the first line of a file is an object, and more text follows."""
    with open_text(path, _unnoted) as file:
        # A list may be one long line, which is not to be in memory as a whole.
        if not file.read(_CHUNK).lstrip(_SPACE).startswith("{"):
            return False
        file.seek(0)
        lines = (line for line in file if line.strip())
        first, second = next(lines, ""), next(lines, "")
    if not second:
        return False
    try:
        return isinstance(_decoder().decode(first.strip(_SPACE).removesuffix(",")), dict)
    except (ValueError, RecursionError):
        return False


class _Window:
    """A part of a JSON text: grows while a value is incomplete, and drops what was read."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._decoder = _decoder()
        self._text = ""
        self._at = 0
        self._dropped = (0, 0)
        """Lines before the window, and characters before it in its first line."""

    @property
    def line(self) -> int:
        """The line being read, from 1."""
        return self._dropped[0] + self._text.count("\n", 0, self._at) + 1

    @property
    def column(self) -> int:
        """The character of the line being read, from 1."""
        start = self._text.rfind("\n", 0, self._at)
        return self._at - start if start >= 0 else self._dropped[1] + self._at + 1

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
            if not closed and self.peek() == "]":
                raise Malformed("a comma without a record behind it", "remove the comma")
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
            raise Malformed("the text ends where a value is expected")
        while True:
            try:
                value, self._at = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                inside = error.pos - self._at
                if not self._grow():
                    # The whole text from here on is in the window: the error's place is in it.
                    self._at = inside
                    raise Malformed(*fault(error.msg, self._text, inside)) from error
            else:
                return value

    def _end(self) -> None:
        if self.peek():
            raise Malformed("more text follows the end; a file of one record per line is .jsonl")

    def _grow(self) -> bool:
        """Forget what was read, and read at least as much again as is left."""
        self._dropped = (self.line - 1, self.column - 1)
        rest = self._text[self._at :]
        more = self._file.read(max(_CHUNK, len(rest)))
        self._text, self._at = rest + more, 0
        return bool(more)


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_object,
        parse_constant=_no_constant,
        parse_float=_float,
        parse_int=_whole,
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [key for key, _ in pairs]
        repeated = next(key for key in names if names.count(key) > 1)
        raise Malformed(f"the key `{repeated}` is given twice", "keep one of the two")
    return made


def _no_constant(name: str) -> Any:
    raise Malformed(f"{name} is not a JSON number", "write null for what is missing")


def _float(text: str) -> WrittenFloat:
    number = WrittenFloat(text)
    if math.isinf(number):
        raise Malformed(f"the number {text[:20]} is too large", "put it in quotes")
    return number


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise Malformed(f"a number of {len(text):,} digits", "put it in quotes")
    return int(text)


def _listed(path: Path, value: Any, note: Note) -> list[Any]:
    """The records in the value of a JSON file that is no list.

    Raises:
        DataError: it is not plain which these are.
    """
    form = 'write [{"id": ...}, ...], or one record per line in a .jsonl file'
    if not isinstance(value, dict) or not value:
        raise DataError(f"{path}: holds no list of records", form)
    if isinstance(value.get("data"), list):
        return list(value["data"])
    if isinstance(value.get("data"), dict):
        return _listed(path, value["data"], note)
    if _in_columns(value):
        raise DataError(
            f"{path}: holds a list per column, not an object per task",
            'pandas writes that with `to_json(..., orient="records", lines=True)`',
        )
    lists = [key for key, items in value.items() if _of_objects(items)]
    if len(lists) > 1:
        named = ", ".join(f"`{key}`" for key in lists)
        raise DataError(
            f"{path}: holds several lists of records, {named}", "write each into a file of its own"
        )
    if lists:
        note(f"the list under `{lists[0]}`")
        return list(value[lists[0]])
    if all(isinstance(task, dict) for task in value.values()):
        note("an object per id")
        return [{"id": key} | task for key, task in value.items()]
    raise DataError(
        f"{path}: holds neither a list of records nor an object with a list under `data`", form
    )


def _of_objects(items: Any) -> bool:
    return isinstance(items, list) and bool(items) and isinstance(items[0], dict)


def _in_columns(value: Mapping[str, Any]) -> bool:
    """Whether an object holds columns: lists of plain values, or values by the row's number."""
    columns = list(value.values())
    if all(isinstance(column, dict) for column in columns):
        return all(column and all(map(str.isdigit, column)) for column in columns)
    return all(
        isinstance(column, list) and column and not _of_objects(column) for column in columns
    )
