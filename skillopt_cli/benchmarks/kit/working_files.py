"""Files in a folder that programs of a model's may have filled with traps: links that lead out."""

from __future__ import annotations

import stat
from pathlib import Path

from skillopt_cli.benchmarks.kit.tools import ToolFault
from skillopt_cli.safe_files import UnsafePath, path_inside, read_unlinked


def inside(folder: Path, name: str) -> Path:
    """`path_inside`, for tools of a model.

    Raises:
        ToolFault: the path leads out of the folder or through a link, or is not a path.
    """
    try:
        return path_inside(folder, name)
    except UnsafePath as error:
        raise ToolFault(str(error)) from None


def read_text(folder: Path, name: str, most: int) -> str:
    """A text file's content; bytes that are not UTF-8 as `write_text` takes them back.

    Raises:
        ToolFault: there is no such file, or it cannot be shown.
    """
    path = inside(folder, name)
    if path.is_dir():
        raise ToolFault(f"`{name}` is a folder.")
    content = read_unlinked(path, most)
    if content is None:
        known = "is too long, or no plain file" if path.exists() else "does not exist"
        raise ToolFault(f"`{name}` {known}.")
    return content.decode(errors="surrogateescape")


def printable(text: str) -> str:
    """A text of `read_text` as it can be shown."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def write_text(folder: Path, name: str, text: str) -> None:
    """Write a text file; its folders are made.

    Raises:
        ToolFault: it cannot be written there.
    """
    path = inside(folder, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = _encoded(text)
        # Written afresh: what is there may be a link to a file elsewhere.
        mode = stat.S_IMODE(path.stat().st_mode) if path.is_file() else 0o644
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
    except OSError as error:
        raise ToolFault(f"`{name}` cannot be written: {error.strerror}.") from error


def _encoded(text: str) -> bytes:
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        # Half a surrogate pair, which JSON can hold, is nothing that a file can.
        return text.encode(errors="replace")
