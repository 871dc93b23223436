"""Skills on disk: reads the text of one, and the files beside it, and writes these back."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from skillopt_cli.core.companion_files import (
    SKILL_FILE,
    Companion,
    Folder,
    Held,
    excess,
    inner,
    is_pattern,
    listed_files,
)
from skillopt_cli.core.control_characters import CONTROL, controls_told
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.permissions import make_folder, opener
from skillopt_cli.safe_files import read_regular

LONGEST_TEXT = 500_000
"""Bytes; a longer file is copied like a binary one instead of being read as text."""
MOST_BYTES = 50_000_000
"""Limit over all files of a folder."""
_READABLE = 0o444
_IGNORED = re.compile(
    r"\.git|\.hg|\.svn|\.DS_Store|__pycache__|.*\.py[co]"
    # Backups and notes that `diff-skills --apply` and `--undo` write beside a skill.
    r"|.*\.\d{8}T\d{6}Z(?:-\d+)?(?:\.[0-9a-f]{12})?\.(?:bak|undone|added)"
)

_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_BINARY = 0.3
"""Share of control characters from which on a file is no text."""


def read_skill_text(path: Path, *, companion: bool = False) -> str:
    """The text of a skill's file, without a byte-order mark. Every command reads skills by it.

    Args:
        companion: whether it is a file beside SKILL.md, which may hold control characters.

    Raises:
        DataError: the file cannot be read, is not UTF-8 text, or holds control characters other
            than tabs and line breaks.
    """
    try:
        content = read_regular(path, MOST_BYTES)
    except OSError as error:
        raise DataError(
            f"cannot read the skill file {path}: {error.strerror}", "correct its permissions"
        ) from None
    return skill_text(content, path, companion=companion)


def skill_text(content: bytes, path: Path, *, companion: bool = False) -> str:
    """The text in the bytes of a skill's file, as `read_skill_text`. Pure."""
    try:
        text = _decoded(content).lstrip("\ufeff")
    except ValueError as error:
        raise DataError(
            f"the skill file {path} is not UTF-8 text{error}",
            "name a Markdown file; one in another encoding has to be saved again as UTF-8",
        ) from None
    if not companion and (told := controls_told(text)):
        lone = "save it with the line ends of Unix, if it has those of an old Mac; " * (
            "\r" in text
        )
        raise DataError(
            f"the skill file {path} holds {told}",
            f"{lone}a skill holds none but tabs and line breaks, so remove them in an editor",
        )
    return text


def _decoded(content: bytes) -> str:
    """The text of a file; raises ValueError with what else it seems to be."""
    for mark, name in _MARKS:
        if content.startswith(mark):
            raise ValueError(f" but {name}")
    # Half of each Latin letter is zero there.
    zeros = content[:1000:2].count(0), content[1:1000:2].count(0)
    if min(zeros) == 0 and max(zeros) > len(content[:1000]) / 4:
        raise ValueError(" but UTF-16")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = content[error.start : error.start + 1]
        letter = found.decode("cp1252", "replace")
        latin = f", which is `{letter}` in Latin-1" if letter.isalpha() else ""
        raise ValueError(f": byte 0x{found.hex().upper()} in line {line}{latin}") from None
    if len(CONTROL.findall(text)) > _BINARY * len(text):
        raise ValueError("")
    return text


def read_companions(root: Path, editable: Sequence[str] = (SKILL_FILE,)) -> Folder:
    """The files of a skill folder but SKILL.md, without those of version control and Python.

    Args:
        editable: see `Folder`.

    Raises:
        UsageError: a member of `editable` leaves the folder, or names no file in it, or none
            matches a file.
        DataError: a file cannot be read, a link leads out, or the folder is too large.
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
    folder = Folder(tuple(files), _checked_patterns(root, editable, files))
    if folder.editable and folder.unmatched == folder.editable:
        raise UsageError(
            f"env.editable matches no text file of {root}: {', '.join(folder.editable)}",
            f"the text files beside {SKILL_FILE} there: {listed_files(folder)}",
        )
    return folder


def write_companions(folder: Folder, place: Path) -> None:
    """Write every file into a folder, byte for byte, with its executable bit.

    Raises:
        DataError: a file that was not read as text has changed since, or is gone.
        OSError: a file cannot be written.
    """
    for file in folder.files:
        path = place / file.path
        make_folder(path.parent)
        with open(path, "wb", opener=opener) as written:
            written.write(_content(file))
        if file.executable:
            make_executable(path)


def make_executable(path: Path) -> None:
    """Let those execute a file who may read it."""
    mode = path.stat().st_mode
    path.chmod(mode | (mode & _READABLE) >> 2)


def _files(root: Path) -> Iterator[Path]:
    """Every file of the folder, following links within it."""
    inside = root.resolve()
    for home, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not _IGNORED.fullmatch(name))
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
        yield from (Path(home, name) for name in names if not _IGNORED.fullmatch(name))


def _companion(path: Path, name: str) -> Companion:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} in a skill folder is not a file", "remove it")
        executable = bool(status.st_mode & stat.S_IXUSR)
        if status.st_size > MOST_BYTES:
            return Companion(name, Held("", status.st_size, ""), executable)
        content = read_regular(path, MOST_BYTES)
    except FileNotFoundError:
        raise DataError(
            f"{path} of the skill folder is a link to nothing",
            "remove it, or put a file in its place",
        ) from None
    except OSError as error:
        raise DataError(
            f"cannot read {path} of the skill folder: {error.strerror}", "fix its permissions"
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
        content = read_regular(Path(held.source), MOST_BYTES)
    except OSError as error:
        raise DataError(
            f"cannot read {held.source}, which belongs to the skill: {error.strerror}", hint
        ) from error
    if hashlib.sha256(content).hexdigest() != held.digest:
        raise DataError(f"{held.source}, which belongs to the skill, has changed", hint)
    return content


def _checked_patterns(
    root: Path, editable: Sequence[str], files: Sequence[Companion]
) -> tuple[str, ...]:
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
