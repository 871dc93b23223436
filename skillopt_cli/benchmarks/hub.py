"""Data sets from the hub, through the package `datasets` of the extra `data`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_cli.core.errors import DataError

if TYPE_CHECKING:
    from datasets import Dataset


def load_hub(
    dataset: str, fields: Collection[str], *, config: str | None = None, benchmark: str
) -> Mapping[str, Dataset]:
    """All splits of a data set, each of which has all `fields`.

    Args:
        dataset: name on the hub, or a local folder of the same layout.
        config: the data set's configuration, where it has several.
        benchmark: whose data it is, for messages.

    Raises:
        DataError: `datasets` is not installed, the hub fails, or a field is missing.
    """
    with _loading(dataset, benchmark):
        from datasets import load_dataset

        loaded: Mapping[str, Dataset] = load_dataset(dataset, config)
    for name, rows in loaded.items():
        _refuse_lacking(rows, fields, f"split `{name}` of `{dataset}`")
    return loaded


def load_hub_files(
    dataset: str, pattern: str, fields: Collection[str], *, benchmark: str
) -> Dataset:
    """The rows of some Parquet files of a data set, each of which has all `fields`.

    The others are not fetched: a split may be a fraction of its data set.

    Args:
        dataset: name on the hub, or a local folder.
        pattern: of the files' names, in any folder of the data set.
        benchmark: whose data it is, for messages.

    Raises:
        DataError: `datasets` is not installed, the hub fails, or a file or field is missing.
    """
    with _loading(dataset, benchmark):
        from datasets import load_dataset
    files = [str(file) for file in hub_files(dataset, pattern, benchmark=benchmark)]
    with _loading(dataset, benchmark):
        rows: Dataset = load_dataset("parquet", data_files=files, split="train")
    _refuse_lacking(rows, fields, f"`{dataset}`")
    return rows


def hub_files(dataset: str, pattern: str, *, benchmark: str) -> list[Path]:
    """Files of a data set as they were put there, for those whose names or forms say something.

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


def _refuse_lacking(rows: Dataset, fields: Collection[str], where: str) -> None:
    missing = [field for field in fields if field not in rows.column_names]
    if missing:
        raise DataError(f"{where} has no field `{missing[0]}`")


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
