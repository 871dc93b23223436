"""Records of task files, with their place for error messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.kit.csv_rows import csv_rows
from skillopt_cli.benchmarks.kit.json_stream import json_lines, json_list
from skillopt_cli.benchmarks.kit.parquet_rows import parquet_rows
from skillopt_cli.benchmarks.kit.text_file import Note
from skillopt_cli.benchmarks.kit.workbook_rows import workbook_rows
from skillopt_cli.core.errors import DataError

_READERS: Mapping[str, Callable[[Path, Note], Iterator[tuple[int, Any]]]] = {
    ".json": json_list,
    ".jsonl": json_lines,
    ".ndjson": json_lines,
    ".csv": csv_rows,
    ".tsv": csv_rows,
    ".xlsx": workbook_rows,
    ".parquet": parquet_rows,
}
_TABLES = (".csv", ".tsv", ".xlsx")
_UNITS = {".json": "record", ".parquet": "record", ".xlsx": "row"}
ENDINGS = f"{', '.join(list(_READERS)[:-1])} or {list(_READERS)[-1]}"


class LeftOut(Exception):
    """A record that a run leaves out: counted, and reported with the source of the tasks.

    For what published data is known to hold; anything else at fault is an error.

    Args:
        why: completes "3 records left out: ...", such as "without a picture".
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a task file.

    Attributes:
        number: its line in a file of lines, its row in a sheet, its position elsewhere; from 1.
    """

    data: Mapping[str, Any]
    path: Path
    number: int

    @property
    def place(self) -> str:
        """File and position, for messages."""
        return place(self.path, self.number)

    @property
    def in_table(self) -> bool:
        """Whether the first row of its file names the keys."""
        return self.path.suffix.lower() in _TABLES

    def fault(self, what: str, hint: str = "") -> DataError:
        """An error about this record, to be raised."""
        return DataError(f"{self.place}: {what}", hint)

    def identifier(self, *keys: str) -> str:
        """The record's id: text, or a whole number.

        Args:
            keys: where to look for it, in order; without any, `id`.

        Raises:
            DataError: it is missing, blank or of another type.
        """
        values = [self.data.get(key) for key in keys or ("id",)]
        value = next((value for value in values if value not in (None, "")), values[-1])
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        name = keys[0] if len(keys) == 1 else "id"
        return replace(self, data={name: value}).text(name)

    def text(self, key: str, *, blank: bool = False) -> str:
        """The text under `key`; `blank` allows one without content.

        Raises:
            DataError: it is missing, not a text, not encodable, or without content.
        """
        if self.data.get(key) is None:
            raise self.fault(f"`{key}` is missing")
        value = self._checked(key, self.data[key])
        if not blank and not value.strip():
            raise self.fault(f"`{key}` is empty")
        return value

    def kind(self, default: str) -> str:
        """The record's `kind`, else `default`."""
        return default if self.data.get("kind") is None else self.text("kind")

    def texts(self, key: str) -> tuple[str, ...]:
        """One or several texts or numbers under `key`, at least one, all with content.

        Raises:
            DataError: it is missing, empty, or holds anything else.
        """
        if self.data.get(key) is None:
            raise self.fault(f"`{key}` is missing")
        value = self.data[key]
        items = value if isinstance(value, list) else [value]
        if not items:
            raise self.fault(f"`{key}` is an empty list")
        return tuple(self._content(key, item) for item in items)

    def refuse_empty(self, references: Iterable[str], normalised: Callable[[str], str]) -> None:
        """Raise for a reference of which nothing is left once it is `normalised`.

        Raises:
            DataError: an answer of nothing would be right.
        """
        for reference in references:
            if not normalised(reference):
                raise self.fault(
                    f"nothing of the reference `{reference}` is compared: an answer of nothing"
                    " would be right",
                    "give the task a reference with content, or remove it",
                )

    def _content(self, key: str, value: Any) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        text = self._checked(key, value)
        if not text.strip():
            raise self.fault(f"`{key}` is empty")
        return text

    def _checked(self, key: str, value: Any) -> str:
        if not isinstance(value, str):
            nested = isinstance(value, dict | list)
            hint = "write it as text" if nested else "put it in quotes"
            raise self.fault(f"`{key}` is {_type_name(value)}, not text", hint)
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise self.fault(f"`{key}` holds half a surrogate pair") from error
        if "\0" in value:
            raise self.fault(f"`{key}` holds a zero character", "remove it: it is no text")
        return value


def text_of(value: Any) -> str:
    """A text without white space at its ends; "" for a value of any other type."""
    return value.strip() if isinstance(value, str) else ""


def scalar_text(value: Any) -> str:
    """A text or number as text without white space at its ends; "" for any other value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return text_of(value)


def place(path: Path, number: int) -> str:
    """File and position, for messages."""
    return f"{path}, {_UNITS.get(path.suffix.lower(), 'line')} {number}"


def read_records(path: Path, note: Note = lambda note: None) -> Iterator[Record]:
    """The records of a task file, in file order, one at a time; its ending names the format.

    The first row of a table names its columns.

    Args:
        note: takes in how the file was read, where its ending does not show it.

    Raises:
        DataError: the file is not readable, or something in it is not a record.
    """
    for number, value in _READERS.get(path.suffix.lower(), json_list)(path, note):
        if not isinstance(value, dict):
            raise DataError(f"{place(path, number)}: {_type_name(value)} instead of an object")
        yield Record(value, path, number)


def task_files(folder: Path) -> list[Path]:
    """The task files of a folder by name, without hidden files, Excel's locks and manifests."""
    return sorted(
        entry
        for entry in folder.iterdir()
        if entry.suffix.lower() in _READERS
        and entry.name != "split_manifest.json"
        and not entry.name.startswith((".", "~$"))
        and entry.is_file()
    )


def single_file(path: Path) -> Path:
    """The task file at `path`: itself, or the only one in the folder.

    Raises:
        DataError: there is no such file, or more than one, or its name ends otherwise.
    """
    if path.is_dir():
        found = task_files(path)
        if len(found) == 1:
            return found[0]
        names = ", ".join(file.name for file in found) or "none"
        raise DataError(
            f"{path} must hold exactly one task file ({ENDINGS}), found: {names}",
            "name the file itself, or use env.split_dir for a folder of three splits",
        )
    if not path.exists():
        raise DataError(
            f"{path.absolute()} does not exist",
            "check the path; if the file was moved, name its place with `env.data_path=FILE`",
        )
    if path.suffix.lower() not in _READERS:
        raise DataError(f"{path} is no {ENDINGS} file", "save it as one of these")
    return path


def _type_name(value: Any) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "true or false",
        bytes: "binary data",
        type(None): "null",
    }
    return names.get(type(value), "a number")
