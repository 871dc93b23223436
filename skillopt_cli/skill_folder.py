"""Skill folders on disk: read into a value, and laid out again as they were."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.folder import (
    SKILL_FILE,
    Companion,
    Folder,
    Held,
    excess,
    inner,
    is_pattern,
)

LONGEST_TEXT = 500_000
"""Bytes; a longer file is not read as text but carried like a binary one."""
MOST_BYTES = 50_000_000
"""Of all files together."""
_PASSED_OVER = re.compile(
    r"\.git|\.hg|\.svn|\.DS_Store|__pycache__|.*\.py[co]"
    # Copies that `diff-skills --apply` and `--undo` leave beside a skill.
    r"|.*\.\d{8}T\d{6}Z(?:-\d+)?\.(?:bak|undone)"
)


def read_companions(root: Path, editable: Sequence[str] = (SKILL_FILE,)) -> Folder:
    """All of a skill folder but SKILL.md. What version control and Python leave is passed over.

    Args:
        editable: see `Folder`.

    Raises:
        UsageError: a member of `editable` leaves the folder, or names no file in it.
        DataError: a file cannot be read, a link leads out, or there is too much of it.
    """
    files: list[Companion] = []
    total = 0
    for path in sorted(_files(root)):
        name = path.relative_to(root).as_posix()
        if name == SKILL_FILE:
            continue
        files.append(_companion(path, name))
        total += files[-1].size
        if fault := excess(Folder(tuple(files))) or _too_big(total):
            raise DataError(
                f"the skill folder {root} is too large: {fault}",
                "move what the skill does not need out of it, or name the file SKILL.md alone",
            )
    files.sort(key=lambda file: file.path)
    return Folder(tuple(files), _checked(root, editable, files))


def lay_out(folder: Folder, place: Path) -> None:
    """Write every file into a folder, byte for byte, executable where it was.

    Raises:
        DataError: a file that is not carried along changed since it was read, or is gone.
        OSError: one cannot be written.
    """
    for file in folder.files:
        path = place / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_content(file))
        if file.executable:
            make_executable(path)


def make_executable(path: Path) -> None:
    """Let everyone run a file."""
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _files(root: Path) -> Iterator[Path]:
    """Every file of the folder, links within it followed."""
    inside = root.resolve()
    for home, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not _PASSED_OVER.fullmatch(name))
        for name in (*folders, *names):
            path = Path(home, name)
            if not path.is_symlink():
                continue
            if path.is_dir() or not path.resolve().is_relative_to(inside):
                what = "a folder" if path.is_dir() else "a file outside of it"
                raise DataError(
                    f"in the skill folder {root}, {path.relative_to(root)} is a link to {what}",
                    "put a copy in its place",
                )
        yield from (Path(home, name) for name in names if not _PASSED_OVER.fullmatch(name))


def _companion(path: Path, name: str) -> Companion:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} in a skill folder is not a file", "remove it")
        executable = bool(status.st_mode & stat.S_IXUSR)
        if status.st_size > MOST_BYTES:
            return Companion(name, Held("", status.st_size, ""), executable)
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(
            f"{path} of the skill folder is a link to nothing",
            "remove it, or put a file in its place",
        ) from None
    except OSError as error:
        raise DataError(
            f"cannot read {path} of the skill folder: {error.strerror}", "mend its permissions"
        ) from None
    if len(content) <= LONGEST_TEXT and b"\0" not in content:
        try:
            return Companion(name, content.decode(), executable)
        except UnicodeDecodeError:
            pass
    digest = hashlib.sha256(content).hexdigest()
    return Companion(name, Held(digest, len(content), str(path.absolute())), executable)


def _content(file: Companion) -> bytes:
    if isinstance(held := file.content, str):
        return held.encode(errors="backslashreplace")
    hint = "put it back as it was, or start a new run"
    try:
        content = Path(held.source).read_bytes()
    except OSError as error:
        raise DataError(
            f"cannot read {held.source}, which belongs to the skill: {error.strerror}", hint
        ) from error
    if hashlib.sha256(content).hexdigest() != held.digest:
        raise DataError(f"{held.source}, which belongs to the skill, has changed", hint)
    return content


def _checked(root: Path, editable: Sequence[str], files: Sequence[Companion]) -> tuple[str, ...]:
    known = {SKILL_FILE, *(file.path for file in files if file.text is not None)}
    checked = []
    for pattern in editable:
        try:
            clean = inner(pattern)
        except ValueError:
            raise UsageError(
                f"`{pattern}` in env.editable leads out of the skill folder",
                "write a path or glob relative to the folder, such as scripts/*.py",
            ) from None
        if not is_pattern(clean) and clean not in known:
            raise UsageError(
                f"env.editable names `{pattern}`, which is no text file of {root}",
                f"for all files of a folder write {clean}/**"
                if (root / clean).is_dir()
                else "correct the path, or write a glob such as scripts/*.py",
            )
        checked.append(clean)
    return tuple(checked)


def _too_big(total: int) -> str:
    return f"its files hold more than {MOST_BYTES:,} bytes" if total > MOST_BYTES else ""
