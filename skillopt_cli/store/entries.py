"""Where the entries of a shared cache are kept: in a folder, or in an object store.

An entry is written whole: a file takes its name when it is complete, an object is put at once. So
any number of processes and machines may write without locks. The last one to write an entry wins.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

from skillopt_cli.config.section import is_address
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.permissions import adopt, closed_mode, make_folder
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.atomic_files import replace_bytes
from skillopt_cli.store.layout import ENTRIES
from skillopt_cli.store.shared_cache import Entries

MOST_ENTRY = 64_000_000
"""Limit on the bytes that are read of an entry."""
_NOT_ATOMIC = ("file", "local", "http", "https")


class FolderEntries:
    """Entries as files below a folder, which may lie on a disk that machines share.

    Args:
        folder: made where it is missing, for those alone whom `mode` lets in.

    Raises:
        DataError: the folder cannot be made.
    """

    def __init__(self, folder: Path, mode: int | None = None) -> None:
        self._home = folder / ENTRIES
        try:
            make_folder(self._home, mode)
            # One that another run is making just now may not have its mode yet.
            found = closed_mode(self._home)
            self._mode = found if found is None or mode is None else found | mode
        except OSError as error:
            raise DataError(
                f"run.cache_dir {folder} cannot be used: {error.strerror or error}",
                "correct its permissions, or set run.cache_dir to another folder",
            ) from error

    def read(self, name: str) -> bytes | None:
        """See `Entries`."""
        try:
            return read_regular(self._home / name, MOST_ENTRY)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.EISDIR, errno.EFBIG):
                return b""  # something else has the name of an entry
            raise DataError(f"{self._home} cannot be read: {error.strerror or error}") from error

    def write(self, name: str, content: bytes) -> None:
        """See `Entries`."""
        path = self._home / name
        try:
            # By the mode of the home: a folder that another writer is making has its own not yet.
            make_folder(path.parent, self._mode)
            replace_bytes(path, content)
            adopt(path, self._mode)
        except OSError as error:
            raise DataError(f"{self._home} cannot be written: {error.strerror or error}") from error


class ObjectEntries:
    """Entries as objects below an address such as `s3://bucket/prefix`, by `fsspec`.

    Raises:
        ConfigError: no package for such addresses is installed, or writes there are not atomic.
    """

    def __init__(self, address: str) -> None:
        kind = address.partition("://")[0]
        if kind in _NOT_ATOMIC:
            raise ConfigError(
                f"run.cache_dir {address} is no object store",
                "set run.cache_dir to a folder, or to an address such as s3://BUCKET/PREFIX",
            )
        try:
            from fsspec.core import url_to_fs

            self._files, self._home = url_to_fs(address)
        # What is missing, each package says in its own way.
        except Exception as error:
            raise ConfigError(
                f"run.cache_dir {address} cannot be used: {_said(error)}",
                "pip install 'skillopt-cli[objects]' for s3://, gcsfs for gs://, adlfs for az://",
            ) from error
        self._address = address

    def read(self, name: str) -> bytes | None:
        """See `Entries`."""
        try:
            # With a range, since without one some packages ask for the size first.
            content: Any = self._files.cat_file(f"{self._home}/{name}", start=0, end=MOST_ENTRY)
        except FileNotFoundError:
            return None
        # Each package has its own errors.
        except Exception as error:
            raise DataError(f"{self._address} cannot be read: {_said(error)}") from error
        return bytes(content)

    def write(self, name: str, content: bytes) -> None:
        """See `Entries`."""
        try:
            self._files.pipe_file(f"{self._home}/{name}", content)
        # As in reading.
        except Exception as error:
            raise DataError(f"{self._address} cannot be written: {_said(error)}") from error


def open_entries(place: str, mode: int | None = None) -> Entries:
    """The entries below a folder or an address; raises as those do."""
    return ObjectEntries(place) if is_address(place) else FolderEntries(Path(place), mode)


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
