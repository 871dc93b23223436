"""Folders of attempts: made fresh, measured, and removed whatever their programs did to them."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path


@asynccontextmanager
async def fresh_folder(root: Path, name: str) -> AsyncIterator[Path]:
    """An empty folder in `root` whose name starts like `name`, removed afterwards."""
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
    """The folder directly in `root` that holds `cwd`; `cwd` itself when that is elsewhere."""
    cwd = cwd.absolute()
    if cwd.is_relative_to(root) and cwd != root:
        return root / cwd.relative_to(root).parts[0]
    return cwd


def bytes_in(folders: Iterable[Path]) -> int:
    """Bytes that everything in the folders takes on the disk; links are not followed."""
    return sum(size for folder in folders for size in _sizes(folder))


def _sizes(folder: Path) -> Iterator[int]:
    waiting = [str(folder)]
    while waiting:
        # What goes away while we look does not count.
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)


def remove_folder(folder: Path) -> None:
    """Remove a folder, whatever is in it. What cannot be removed stays."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        return
    # Some programs write-protect the folders of their caches.
    for parent, folders, _ in os.walk(folder):
        for path in (Path(parent), *(Path(parent, name) for name in folders)):
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
