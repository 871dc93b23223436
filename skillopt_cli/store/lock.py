"""The lock of a run folder: one writer at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from skillopt_cli.core.errors import DataError, RunLocked
from skillopt_cli.permissions import opener
from skillopt_cli.safe_files import open_regular

LOCK_FILE = "run.lock"
_LONGEST_ID = 32
"""Bytes that hold any process id."""


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Lock an existing run folder for this process while the block lasts.

    The operating system releases the lock however the process ends. The file itself stays, since
    removing it would let two processes lock two files of the same name. Somebody may remove it all
    the same, so the folder is locked as well.

    Raises:
        RunLocked: another process holds it; the message names process and folder.
        DataError: the lock file cannot be opened, or the file system cannot lock.
    """
    with _locked_folder(folder), _opened(folder / LOCK_FILE) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise _in_use(folder, file.read().strip()) from None
        except OSError as error:
            raise DataError(
                f"the run folder {folder} cannot be locked: {error.strerror}",
                "put it on a local disk with `env.out_root=FOLDER`",
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _opened(path: Path) -> TextIO:
    try:
        return open(path, "a+", encoding="ascii", opener=opener)
    except OSError as error:
        raise DataError(
            f"{path} cannot be opened: {error.strerror}",
            "remove it, if it is no file, or correct the permissions of its folder",
        ) from error


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    """Lock the folder itself, where its file system can; raises RunLocked."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _in_use(folder, _written_id(folder)) from None
        # Network file systems may lock files only, and there the file counts alone.
        except OSError:
            pass
        yield
    finally:
        os.close(descriptor)


def _in_use(folder: Path, owner: str) -> RunLocked:
    return RunLocked(
        f"the run folder {folder} is in use by process {owner or 'unknown'}",
        "wait until it ends, or stop it; the run can be resumed then",
    )


def _written_id(folder: Path) -> str:
    """The process id in the lock file; empty without one."""
    try:
        with open_regular(folder / LOCK_FILE) as file:
            return file.read(_LONGEST_ID).decode("ascii", "replace").strip()
    except OSError:
        return ""


def lock_holder(folder: Path) -> str | None:
    """The id of the process that holds the run folder's lock, None when none does."""
    for path in (folder / LOCK_FILE, folder):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            # Shared, and released at once, so that the check delays no other process.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _written_id(folder) or "unknown"
        except OSError:
            continue
        finally:
            os.close(descriptor)
    return None
