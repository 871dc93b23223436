"""Task records: what stands in a task file, and where, so that every complaint names the place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from skillopt_cli.benchmarks.csv_stream import csv_rows
from skillopt_cli.benchmarks.json_stream import json_lines, json_list
from skillopt_cli.core.errors import DataError

SUFFIXES = (".json", ".jsonl", ".csv")
Unit = Literal["line", "record"]


class LeftOut(Exception):
    """A record a run does without: counted, and told of with the source of the tasks.

    For what published data is known to hold; anything else at fault is an error.

    Args:
        why: completes "3 records left out: 3 ...", such as "without a picture".
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a task file.

    Attributes:
        number: its line in a .jsonl or .csv file, its position in a .json list; from 1.
    """

    data: Mapping[str, Any]
    path: Path
    number: int

    @property
    def place(self) -> str:
        """File and position, for messages."""
        return place(self.path, self.number)

    def fault(self, what: str, hint: str = "") -> DataError:
        """An error about this record, to be raised."""
        return DataError(f"{self.place}: {what}", hint)

    def identifier(self) -> str:
        """The record's `id`: text, or a whole number.

        Raises:
            DataError: it is missing, blank or of another type.
        """
        value = self.data.get("id")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.text("id")

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

    def _content(self, key: str, value: Any) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        text = self._checked(key, value)
        if not text.strip():
            raise self.fault(f"`{key}` is empty")
        return text

    def _checked(self, key: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.fault(f"`{key}` is {_type_name(value)}, not text", "put it in quotes")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise self.fault(f"`{key}` holds half a surrogate pair") from error
        return value


def place(path: Path, number: int) -> str:
    """File and position, for messages."""
    unit: Unit = "record" if path.suffix == ".json" else "line"
    return f"{path}, {unit} {number}"


def read_records(path: Path) -> Iterator[Record]:
    """The records of a .json, .jsonl or .csv file, in file order, one at a time.

    The first line of a .csv file names its columns; a record's values are texts then.

    Raises:
        DataError: the file is not readable, or something in it is not a record.
    """
    readers = {".jsonl": json_lines, ".csv": csv_rows}
    for number, value in readers.get(path.suffix, json_list)(path):
        if not isinstance(value, dict):
            raise DataError(f"{place(path, number)}: {_type_name(value)} instead of an object")
        yield Record(value, path, number)


def task_files(folder: Path) -> list[Path]:
    """The task files of a folder by name, without hidden files and split manifests."""
    return sorted(
        entry
        for entry in folder.iterdir()
        if entry.suffix in SUFFIXES
        and entry.name != "split_manifest.json"
        and not entry.name.startswith(".")
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
            f"{path} must hold exactly one .json, .jsonl or .csv file, found: {names}",
            "name the file itself, or use env.split_dir for a folder of three splits",
        )
    if not path.exists():
        raise DataError(f"{path.absolute()} does not exist")
    if path.suffix not in SUFFIXES:
        raise DataError(f"{path} is no .json, .jsonl or .csv file")
    return path


def _type_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    if value is None:
        return "null"
    return names.get(type(value), "a number")
