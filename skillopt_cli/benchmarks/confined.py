"""Files in a folder that programs of a model's may have filled with traps: links that lead out."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from skillopt_cli.benchmarks.toolbox import ToolFault


def inside(folder: Path, name: str) -> Path:
    """The place a relative path means in a folder.

    Raises:
        ToolFault: it leads out of the folder, or through a link, or is no path.
    """
    parts = PurePosixPath(name)
    if not name.strip() or "\0" in name:
        raise ToolFault("Give the path of a file, relative to the working folder.")
    if parts.is_absolute() or ".." in parts.parts:
        raise ToolFault(f"`{name}` is outside the working folder; use a relative path in it.")
    if folder.is_symlink():
        raise ToolFault("The working folder was replaced by a link, which is not followed.")
    place = folder
    for part in parts.parts:
        place /= part
        if place.is_symlink():
            raise ToolFault(f"`{name}` leads through a link, which is not followed.")
    return place


def plain_bytes(path: Path, most: int) -> bytes | None:
    """What a regular file holds; None for anything else, or where it is longer than `most` bytes.

    The program that wrote there may have put a link to a file it must not read itself.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return None
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1 or about.st_size > most:
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most)


def read_text(folder: Path, name: str, most: int) -> str:
    """A text file's content; bytes that are not UTF-8 as `write_text` takes them back.

    Raises:
        ToolFault: there is no such file, or it cannot be shown.
    """
    path = inside(folder, name)
    if path.is_dir():
        raise ToolFault(f"`{name}` is a folder.")
    content = plain_bytes(path, most)
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
