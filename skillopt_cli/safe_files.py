"""Bounded access to files that the user, a stranger or a model's program named or wrote.

Any path may be a pipe that blocks its reader, a device without an end, or a file larger than the
memory. `open_regular`, `read_regular` and `read_text` refuse all but regular files of a bounded
size; `read_unlinked` and `path_inside` also refuse links, for folders that foreign programs write
to.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from io import BufferedReader, BufferedWriter
from pathlib import Path, PurePosixPath
from typing import Literal, cast, overload

from skillopt_cli.permissions import open_file

MOST_SETTINGS = 1_000_000
"""Limit in bytes of a file of settings, a prompt or a token, which a person writes."""
MOST_DATA = 2_000_000_000
"""Limit in bytes of a file that holds data: tasks, pictures, records of a run."""


class UnsafePath(ValueError):
    """A path leaves its folder; the message names it."""


@overload
def open_regular(
    path: Path, mode: Literal["rb"] = "rb", most: int | None = None
) -> BufferedReader: ...
@overload
def open_regular(path: Path, mode: Literal["ab"], most: int | None = None) -> BufferedWriter: ...
def open_regular(
    path: Path, mode: Literal["rb", "ab"] = "rb", most: int | None = None
) -> BufferedReader | BufferedWriter:
    """Open a regular file for reading or appending, without blocking.

    Args:
        most: limit on its size in bytes.

    Raises:
        OSError: it cannot be opened, is not a regular file, or is larger.
    """
    file = open(path, mode, opener=_without_blocking)  # noqa: SIM115 - closed by the caller
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    if most is not None and found.st_size > most:
        file.close()
        raise _too_large(path, most)
    return cast("BufferedReader | BufferedWriter", file)


def read_regular(path: Path, most: int = MOST_DATA) -> bytes:
    """Read a regular file.

    Args:
        most: limit on its size in bytes.

    Raises:
        OSError: it cannot be read, is not a regular file, or is larger.
    """
    with open_regular(path, most=most) as file:
        # Some files of the system have no size and no end.
        content = file.read(most + 1)
    if len(content) > most:
        raise _too_large(path, most)
    return content


def read_text(path: Path, most: int = MOST_DATA) -> str:
    """Read a regular file of UTF-8 text, without a byte order mark; line ends become line breaks.

    Raises:
        OSError: as `read_regular`.
        UnicodeDecodeError: it is not UTF-8 text.
    """
    text = read_regular(path, most).decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def digest_regular(path: Path) -> str:
    """Hex SHA-256 of a regular file.

    Raises:
        OSError: as `read_regular`.
    """
    digest = hashlib.sha256()
    with open_regular(path, most=MOST_DATA) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def read_unlinked(path: Path, most: int) -> bytes | None:
    """Read a regular file that is neither a symbolic nor a hard link.

    Returns None for anything else and for a file of more than `most` bytes: the program that wrote
    it may have linked a file that it must not read itself.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_size > most:
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most)


def path_inside(folder: Path, name: str) -> Path:
    """Resolve a relative path in a folder, refusing links in every part of it.

    Raises:
        UnsafePath: it leads out of the folder or through a link, or is not a path.
    """
    parts = PurePosixPath(name)
    if not name.strip() or "\0" in name:
        raise UnsafePath("Give the path of a file, relative to the working folder.")
    if parts.is_absolute() or ".." in parts.parts:
        raise UnsafePath(f"`{name}` is outside the working folder; use a relative path in it.")
    if folder.is_symlink():
        raise UnsafePath("The working folder was replaced by a link, which is not followed.")
    path = folder
    for part in parts.parts:
        path /= part
        if path.is_symlink():
            raise UnsafePath(f"`{name}` leads through a link, which is not followed.")
    return path


def _too_large(path: Path, most: int) -> OSError:
    size = f"{most // 1_000_000:,} MB" if most >= 100_000_000 else f"{most // 1000:,} kB"
    return OSError(errno.EFBIG, f"it holds more than {size}", str(path))


def _without_blocking(name: str, flags: int) -> int:
    return open_file(name, flags | os.O_NONBLOCK)
