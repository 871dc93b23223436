"""Pictures of data sets from the hub, written to files byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_cli.benchmarks.pictures import SUFFIXES
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.names import safe_name

if TYPE_CHECKING:
    from datasets import Dataset


def undecoded(rows: Dataset, column: str) -> Dataset:
    """The rows with the bytes of their pictures, which then need no library to be read."""
    from datasets import Image

    return rows.cast_column(column, Image(decode=False))


def pictured(splits: Mapping[str, Dataset], dataset: str) -> Iterator[Record]:
    """The rows as records, with None as the `image` of those that hold no picture.

    Args:
        splits: of a data set, as `load_hub` gives them.
        dataset: its name, for messages.
    """
    for name, rows in splits.items():
        for number, row in enumerate(undecoded(rows, "image"), 1):
            image = row["image"] if _has_picture(row["image"]) else None
            yield Record({**row, "image": image}, Path(f"{dataset}/{name}.json"), number)


def save_picture(folder: Path, name: str, value: Any) -> str:
    """Write a picture, and return the name of its file.

    Args:
        folder: made if need be.
        name: of the file, without suffix; made safe.
        value: the row's value in an `undecoded` column, or the path of a file.

    Raises:
        DataError: there is no picture in it, or one of a type that no service takes.
    """
    content = _bytes(value)
    suffix = next((s for start, s in SUFFIXES.items() if content.startswith(start)), None)
    if suffix is None:
        raise DataError(f"the picture of `{name}` is no PNG, JPEG, GIF or WebP")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{safe_name(name)}{suffix}"
    path.write_bytes(content)
    return path.name


def _has_picture(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value.get("bytes") or value.get("path"))


def _bytes(value: Any) -> bytes:
    if isinstance(value, Mapping):
        if isinstance(value.get("bytes"), bytes):
            return bytes(value["bytes"])
        value = value.get("path")
    path = Path(str(value or ""))
    return path.read_bytes() if path.is_file() else b""
