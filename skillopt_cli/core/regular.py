"""Files of a run folder, which may be a stranger's, opened without being held up by what they are.

Opening a pipe waits for whoever writes it, and a device may never end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Literal


def open_regular(path: Path, mode: Literal["rb", "ab"] = "rb") -> BinaryIO:
    """A file, open for reading or adding.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    file = open(path, mode, opener=_at_once)  # noqa: SIM115 - whoever asked closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return file


def read_regular(path: Path, most: int | None = None) -> bytes:
    """What a file holds.

    Args:
        most: bytes it may hold.

    Raises:
        OSError: it cannot be read, is no regular file, or holds more.
    """
    with open_regular(path) as file:
        found = file.read() if most is None else file.read(most + 1)
    if most is not None and len(found) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most // 1000:,} kB", str(path))
    return found


def _at_once(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NONBLOCK, 0o666)
