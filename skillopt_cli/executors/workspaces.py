"""Folders of attempts: creation, measurement and removal."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path

_NAME = re.compile(r"skillopt-(\d+)-([0-9a-f]{8})-")


@asynccontextmanager
async def fresh_folder(root: Path, name: str) -> AsyncIterator[Path]:
    """Create an empty folder in `root` whose name starts like `name`; remove it afterwards."""
    folder = _made(root, name)
    try:
        yield folder
    finally:
        await asyncio.to_thread(remove_folder, folder)


def _made(root: Path, name: str) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    start = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:40]
    return Path(tempfile.mkdtemp(prefix=f"{start}-", dir=root))


def workspace_of(root: Path, cwd: Path) -> Path:
    """Return the folder directly in `root` that contains `cwd`; `cwd` itself outside `root`."""
    cwd = cwd.absolute()
    if cwd.is_relative_to(root) and cwd != root:
        return root / cwd.relative_to(root).parts[0]
    return cwd


def bytes_in(folders: Iterable[Path]) -> int:
    """Return the bytes that folders occupy on the disk; links are not followed."""
    return sum(size for folder in folders for size in _sizes(folder))


def _sizes(folder: Path) -> Iterator[int]:
    waiting = [str(folder)]
    while waiting:
        # Files removed meanwhile do not count.
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)


def remove_folder(folder: Path) -> None:
    """Remove a folder as far as possible, including write-protected parts."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        return
    # Some programs write-protect their cache folders.
    for parent, folders, _ in os.walk(folder):
        for path in (Path(parent), *(Path(parent, name) for name in folders)):
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def temp_prefix(pid: int | None = None) -> str:
    """Return the name prefix of a process's temporary folders; by default of this one's."""
    return f"skillopt-{pid or os.getpid()}-{_process_table()}-"


def owner_pid(name: str) -> int | None:
    """Return the process that created a temporary folder; None if it is not of this machine.

    Machines and containers may share the folder for temporary files, but not process numbers.
    """
    found = _NAME.match(name)
    return int(found[1]) if found and found[2] == _process_table() else None


@cache
def _process_table() -> str:
    """Identify the machine and its process table."""
    try:
        processes = str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux
        processes = ""
    return hashlib.sha256(f"{platform.node()} {processes}".encode()).hexdigest()[:8]
