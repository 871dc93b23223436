"""The files beside SKILL.md, in a skill that is a folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

SKILL_FILE = "SKILL.md"
"""The main file of a skill folder: a skill's `text`."""

EDITABLE_WORDS = "`env.editable` names what may be edited"
"""What to know of an edit of a read-only file."""
MOST_FILES = 200
MOST_TEXT = 2_000_000
"""Characters of all text files together."""

_LISTED = 5
_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Held:
    """Content that is not carried along: of a binary file, or of one too large to be read.

    Attributes:
        digest: hex SHA-256 of the bytes, which is what identifies them.
        size: in bytes.
        source: where they are read when the skill is laid out.
    """

    digest: str
    size: int
    source: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Companion:
    """A file beside SKILL.md.

    Attributes:
        path: POSIX, relative to the folder; never SKILL.md.
        content: its text, or its digest in the place of the text.
        executable: whether its owner may run it.
    """

    path: str
    content: str | Held
    executable: bool = False

    @property
    def text(self) -> str | None:
        """The text; None where the content is not carried along."""
        return None if isinstance(self.content, Held) else self.content

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the content."""
        if isinstance(self.content, Held):
            return self.content.digest
        return hashlib.sha256(self.content.encode(errors="surrogatepass")).hexdigest()

    @property
    def size(self) -> int:
        """Its size in bytes."""
        if isinstance(self.content, Held):
            return self.content.size
        return len(self.content.encode(errors="surrogatepass"))


@dataclass(frozen=True, slots=True)
class Folder:
    """All of a skill folder but the text of SKILL.md.

    Attributes:
        files: ordered by path.
        editable: what an optimizer may change: paths and globs (`*` within a name, `**` over any
            number of folders). It may make a new file where a glob matches its path.
    """

    files: tuple[Companion, ...] = ()
    editable: tuple[str, ...] = (SKILL_FILE,)

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """Path and text of every text file."""
        return tuple((file.path, file.text) for file in self.files if file.text is not None)

    @property
    def locked_texts(self) -> tuple[tuple[str, str], ...]:
        """Path and text of every text file that may not be changed."""
        return tuple((path, text) for path, text in self.texts if not self.may_change(path))

    @property
    def more_editable(self) -> bool:
        """Whether anything but SKILL.md may be changed."""
        return any(pattern != SKILL_FILE for pattern in self.editable)

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The members of `editable` that match no text file, so that only a new one can."""
        paths = [path.split("/") for path in (SKILL_FILE, *dict(self.texts))]
        return tuple(
            pattern
            for pattern in self.editable
            if not any(_matches(pattern.split("/"), path) for path in paths)
        )

    def file(self, path: str) -> Companion | None:
        """The file at a path, None without one."""
        return next((file for file in self.files if file.path == path), None)

    def may_change(self, path: str) -> bool:
        """Whether the optimizer may change the file at a path."""
        return any(_matches(pattern.split("/"), path.split("/")) for pattern in self.editable)

    def may_make(self, path: str) -> bool:
        """Whether the optimizer may make a file at a path, where a glob, not a file, allows it.

        Nor can it be made where a folder is, or in the place of a folder. On some systems names
        that differ in case only are one.
        """
        parts, wanted = path.split("/"), f"{path}/".casefold()
        others = [f"{other}/".casefold() for other in (SKILL_FILE, *(f.path for f in self.files))]
        return any(
            is_pattern(pattern) and _matches(pattern.split("/"), parts) for pattern in self.editable
        ) and not any(other.startswith(wanted) or wanted.startswith(other) for other in others)

    def with_text(self, path: str, text: str) -> Folder:
        """The folder with a text in the file at `path`, which may be a new one.

        A new file is executable if it begins like a script.
        """
        old = self.file(path) or Companion(path, "", text.startswith("#!"))
        others = [file for file in self.files if file.path != path]
        files = sorted([*others, replace(old, content=text)], key=lambda file: file.path)
        return replace(self, files=tuple(files))


def no_longer_named(folder: Folder, before: str, after: str) -> tuple[str, ...]:
    """The paths that the text of SKILL.md named before, where it does not and no other text does.

    Args:
        before, after: the texts of SKILL.md.
    """
    texts = dict(folder.texts)
    return tuple(
        file.path
        for file in folder.files
        if _names(before, file.path)
        and not _names(after, file.path)
        and not any(_names(text, file.path) for path, text in texts.items() if path != file.path)
    )


def _names(text: str, path: str) -> bool:
    """Whether a text holds a path, which is no part of a longer one."""
    return re.search(rf"(?<![\w./-])(?:\./)?{re.escape(path)}(?![\w/-]|\.\w)", text) is not None


def is_pattern(path: str) -> bool:
    """Whether a member of `Folder.editable` is a glob rather than the path of one file."""
    return bool(_WILD.intersection(path))


def inner(path: str) -> str:
    """`path` as it is written in a folder, such as `scripts/x.py` for `./scripts/x.py`.

    Raises:
        ValueError: it is empty, absolute or leads out of the folder.
    """
    clean = PurePosixPath(path)
    if clean.is_absolute() or not clean.parts or ".." in clean.parts or "\0" in path:
        raise ValueError(f"the path {path!r} leads out of the folder")
    return str(clean)


def listed_files(folder: Folder) -> str:
    """The paths of the first text files beside SKILL.md, and how many more there are."""
    paths = [f"`{path}`" for path, _ in folder.texts]
    more = f" and {len(paths) - _LISTED:,} more" if len(paths) > _LISTED else ""
    return f"{', '.join(paths[:_LISTED])}{more}" if paths else "none"


def excess(folder: Folder) -> str:
    """In which way a folder is too large to be a skill; empty when it is not."""
    if len(folder.files) > MOST_FILES:
        return f"it holds more than {MOST_FILES} files beside {SKILL_FILE}"
    if sum(len(text) for _, text in folder.texts) > MOST_TEXT:
        return f"its text files hold more than {MOST_TEXT:,} characters"
    return ""


def _matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    if not pattern:
        return not path
    head, rest = pattern[0], pattern[1:]
    if head == "**":
        return any(_matches(rest, path[at:]) for at in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], head) and _matches(rest, path[1:])
