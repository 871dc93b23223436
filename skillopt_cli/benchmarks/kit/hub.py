"""Data sets and their pictures from the hub, through the package `datasets` of the extra `data`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_cli.benchmarks.kit.pictures import SUFFIXES
from skillopt_cli.benchmarks.kit.records import Record, read_records
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.formatting import safe_name
from skillopt_cli.safe_files import read_regular

if TYPE_CHECKING:
    from datasets import Dataset


def load_hub(
    dataset: str,
    fields: Collection[str],
    *,
    config: str | None = None,
    files: str = "",
    benchmark: str,
) -> Mapping[str, Dataset]:
    """All splits of a data set, each of which has all `fields`.

    Args:
        dataset: name on the hub, or a local folder of the same layout.
        config: the data set's configuration, where it has several.
        files: pattern of the names of some Parquet files, which become one split: the others are
            not fetched, for a split may be a fraction of its data set.
        benchmark: whose data it is, for messages.

    Raises:
        DataError: `datasets` is not installed, the hub fails, or a file or field is missing.
    """
    with _loading(dataset, benchmark):
        from datasets import load_dataset
    chosen = [str(f) for f in hub_files(dataset, files, benchmark=benchmark)] if files else None
    with _loading(dataset, benchmark):
        loaded: Mapping[str, Dataset] = (
            load_dataset("parquet", data_files=chosen) if chosen else load_dataset(dataset, config)
        )
    for name, rows in loaded.items():
        missing = [field for field in fields if field not in rows.column_names]
        if missing:
            raise DataError(f"split `{name}` of `{dataset}` has no field `{missing[0]}`")
    return loaded


def hub_records(dataset: str, pattern: str, *, benchmark: str) -> Iterator[Record]:
    """The records of files of a data set; see `hub_files`."""
    for path in hub_files(dataset, pattern, benchmark=benchmark):
        yield from read_records(path)


def hub_files(dataset: str, pattern: str, *, benchmark: str) -> list[Path]:
    """Files of a data set as they were uploaded, for data sets that are no plain tables.

    Args:
        dataset: name on the hub, or a local folder.
        pattern: of the files' names, in any folder of the data set.
        benchmark: whose data it is, for messages.

    Returns:
        The files in the order of their names, at least one.

    Raises:
        DataError: `huggingface_hub` is not installed, the hub fails, or there is no such file.
    """
    folder = Path(dataset)
    if not folder.is_dir():
        with _loading(dataset, benchmark):
            from huggingface_hub import snapshot_download

            wanted = [pattern, f"**/{pattern}"]
            folder = Path(snapshot_download(dataset, repo_type="dataset", allow_patterns=wanted))
    found = sorted(folder.rglob(pattern))
    if not found:
        raise DataError(f"the data set `{dataset}` has no file `{pattern}`")
    return found


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


@contextmanager
def _loading(dataset: str, benchmark: str) -> Iterator[None]:
    """The one place where the hub's client is imported and may fail."""
    try:
        yield
    except ImportError as error:
        raise DataError(
            f"preparing {benchmark} needs the package `datasets`",
            "pip install 'skillopt-cli[data]'",
        ) from error
    # The client raises errors of several libraries; whichever it is, there are no records.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"cannot load the data set `{dataset}`: {reason}",
            "check the connection, HF_ENDPOINT and HF_HUB_OFFLINE, and HF_TOKEN where the data set"
            " asks for one, then try again; the bundled sample needs no download",
        ) from error


def _has_picture(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value.get("bytes") or value.get("path"))


def _bytes(value: Any) -> bytes:
    if isinstance(value, Mapping):
        if isinstance(value.get("bytes"), bytes):
            return bytes(value["bytes"])
        value = value.get("path")
    path = Path(str(value or ""))
    return read_regular(path) if path.is_file() else b""
