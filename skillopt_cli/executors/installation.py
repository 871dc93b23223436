"""Which files of this machine a program needs, beyond the system's, to start at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

_PACKAGES = ("site-packages", "dist-packages")
_PARTS = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")
"""What of an installation's folder a program needs. Nothing else: it may be somebody's home."""
_HOPS = 40


def needed_by(program: Path, search: str) -> frozenset[Path]:
    """Files and folders of a program's own installation, and of those of its interpreters.

    A program in a folder `bin` brings that folder's neighbours `lib` and so on; one inside an
    installed Python or Node package brings the package; any other brings its own file only.

    Args:
        program: an absolute path.
        search: the search path that a `#!/usr/bin/env` line goes by.
    """
    found = set[Path]()
    waiting, seen = [program], set[Path]()
    while waiting:
        file = waiting.pop()
        if file in seen or len(seen) > _HOPS:
            continue
        seen.add(file)
        found.update(_installation(file))
        if file.is_symlink():
            waiting.append(Path(os.path.normpath(file.parent / file.readlink())))
            waiting.append(file.resolve())
        elif interpreter := _interpreter(file, search):
            waiting.append(interpreter)
    return frozenset(found)


def parts_of(prefix: Path) -> Iterator[Path]:
    """What programs need of an installation that has a folder `bin`."""
    for name in _PARTS:
        if (prefix / name).exists():
            yield prefix / name


def _installation(file: Path) -> Iterator[Path]:
    yield file
    for folder in reversed(file.parents):
        if folder.name == "node_modules" or folder.parent.name in _PACKAGES:
            yield folder
            return
    if file.parent.name == "bin":
        yield from parts_of(file.parent.parent)


def _interpreter(file: Path, search: str) -> Path | None:
    """The program that the first line of a script names."""
    try:
        with file.open("rb") as opened:
            line = opened.readline(512)
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = line[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(names[0], path=search) if names else None
        return Path(found) if found else None
    return Path(words[0]) if words and Path(words[0]).is_absolute() else None
