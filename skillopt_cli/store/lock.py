"""One writer per run folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillopt_cli.core.errors import DataError, RunLocked
from skillopt_cli.core.regular import open_regular

LOCK_FILE = "run.lock"
_LONGEST = 32
"""Bytes of a process id, and more."""


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Hold the run folder for this process. The folder must exist.

    The operating system gives the lock back however the process ends. The file itself stays, since
    removing it would let two processes lock two files of the same name.

    Raises:
        RunLocked: another holder has it; names its process and the folder.
        DataError: the file system cannot lock.
    """
    with (folder / LOCK_FILE).open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip()
            raise RunLocked(
                f"the run folder {folder} is in use by process {holder or 'unknown'}",
                "wait until it ends, or stop it; the run can be resumed then",
            ) from None
        except OSError as error:
            raise DataError(
                f"the run folder {folder} cannot be locked: {error.strerror}",
                "put it on a local disk with `env.out_root=FOLDER`",
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def holder(folder: Path) -> str | None:
    """The process that writes the run folder, as `lock_run` noted it; None when none does."""
    try:
        file = open_regular(folder / LOCK_FILE)
    except OSError:
        return None
    with file:
        try:
            # Shared, and given back at once: asking keeps nobody out for longer than it takes.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read(_LONGEST).decode("ascii", "replace").strip() or "unknown"
        except OSError:
            return None
    return None
