"""Permissions of run folders, and of all that is written in them.

A run folder is given the permissions of `run.shared_with`, whatever the umask. What is created in a
folder that others may not enter gets that folder's own; anywhere else the umask decides. So no
writer needs to know whose folder it writes in.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

FOLDER_MODES: Mapping[str, int] = MappingProxyType({"owner": 0o700, "group": 0o750})
"""The mode of a run folder by `run.shared_with`; files have it without the right to execute."""
OWNER_ONLY = 0o600
"""The mode of a socket, by which a run is controlled and not read."""
_ALL = 0o777
_OTHERS = 0o007
_NOT_EXECUTABLE = 0o666


def opener(name: str, flags: int) -> int:
    """Open a file, for the argument `opener` of `open`."""
    return open_file(name, flags)


def open_file(path: Path | str, flags: int, mode: int | None = None) -> int:
    """Open a file and return its descriptor; one opened for writing gets its permissions.

    Args:
        mode: of the folder that it should be in; None takes the one that it is in.

    Raises:
        OSError: as `os.open`.
    """
    # A pipe in the place of a file would block until somebody reads it.
    flags |= os.O_NONBLOCK
    if not flags & os.O_CREAT:
        return os.open(path, flags)
    folder = closed_mode(Path(path).parent) if mode is None else mode
    if folder is None:
        return os.open(path, flags, _NOT_EXECUTABLE)
    descriptor = os.open(path, flags, folder & _NOT_EXECUTABLE)
    _give(descriptor, folder & _NOT_EXECUTABLE)
    return descriptor


def make_folder(path: Path, mode: int | None = None, *, exist_ok: bool = True) -> None:
    """Create a folder and those around it.

    Args:
        mode: of the folders that are created; None takes that of the folder each is in.

    Raises:
        FileExistsError: it is there and must not be, or is a file.
        OSError: it cannot be created.
    """
    if not path.parent.exists():
        make_folder(path.parent, mode)
    wanted = closed_mode(path.parent) if mode is None else mode
    try:
        path.mkdir(_ALL if wanted is None else wanted)
    except FileExistsError:
        if not (exist_ok and path.is_dir()):
            raise
    else:
        if wanted is not None:
            _give_at(path, wanted)


def share(folder: Path, mode: int) -> None:
    """Give a folder and all in it the permissions of `mode`, if the folder has others.

    Links, and files with further names, are left as they are.
    """
    if stat.S_IMODE(folder.stat().st_mode) & _ALL == mode:
        return
    _give_at(folder, mode)
    for _, folders, files, inside in os.fwalk(folder):
        for name in (*folders, *files):
            # A link or a socket cannot be opened so, and a file may be gone by now.
            with suppress(OSError):
                _give_at(name, mode, inside)


def adopt(path: Path, mode: int | None = None) -> None:
    """Give a file that was moved into a folder what it would have got had it been made there.

    Args:
        mode: of the folder that it should be in; None takes the one that it is in.
    """
    folder = closed_mode(path.parent) if mode is None else mode
    if folder is not None:
        _give_at(path, folder)


def closed_mode(folder: Path) -> int | None:
    """The permissions of a folder that others may not enter; None for any other."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    return None if mode & _OTHERS else mode & _ALL


def _give_at(path: Path | str, mode: int, inside: int | None = None) -> None:
    """Give a folder, or a file with one name, the permissions of a folder's `mode`."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, dir_fd=inside)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            _give(descriptor, mode)
        elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            executable = found.st_mode & stat.S_IXUSR
            _give(descriptor, mode if executable else mode & _NOT_EXECUTABLE)
    finally:
        os.close(descriptor)


def _give(descriptor: int, wanted: int) -> None:
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if mode & _ALL != wanted:
        # Some file systems have no permissions, and another's file keeps those it has.
        with suppress(OSError):
            os.fchmod(descriptor, mode & ~_ALL | wanted)
