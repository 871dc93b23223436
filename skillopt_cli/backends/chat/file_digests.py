"""SHA-256 digests of large files, kept in a file of the user's while the files are unchanged."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from skillopt_cli.safe_files import open_regular

_MOST_BYTES = 1_000_000
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def file_digest(path: Path, kept: Path) -> str:
    """Return the hex SHA-256 digest of a file, read in full unless it is kept for this very file.

    A kept digest holds while device, inode, size and the times of change are the same.

    Args:
        kept: the file with the digests found so far; written for its owner alone, and not
            believed where others can write to it. Where it cannot be written, nothing is kept.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    with open_regular(path) as file:
        state = _state(os.fstat(file.fileno()))
        found = _read(kept).get(os.fspath(path.resolve()))
        if isinstance(found, dict) and found.get("state") == state:
            return str(found.get("sha256"))
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        unchanged = _state(os.fstat(file.fileno())) == state
    if unchanged:
        _keep(path, state, digest, kept)
    return digest


def keep_digest(path: Path, digest: str, kept: Path) -> None:
    """Keep the digest of a file that was just written."""
    _keep(path, _state(path.stat()), digest, kept)


def _state(found: os.stat_result) -> list[int]:
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _read(kept: Path) -> dict[str, object]:
    try:
        with open_regular(kept) as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.getuid() or found.st_mode & _OTHERS_WRITE:
                return {}
            entries = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _keep(path: Path, state: list[int], digest: str, kept: Path) -> None:
    entries = {name: entry for name, entry in _read(kept).items() if Path(name).exists()}
    entries[os.fspath(path.resolve())] = {"state": state, "sha256": digest}
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix="draft-", dir=kept.parent)  # for its owner alone
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(entries, file, indent=1)
            Path(draft).replace(kept)
        finally:
            with suppress(FileNotFoundError):
                Path(draft).unlink()
