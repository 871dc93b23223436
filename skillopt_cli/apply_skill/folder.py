"""Writes a trained skill folder over a user's folder, file by file, and restores it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from skillopt_cli.apply_skill.file import (
    MOMENT,
    NOTHING_TO_UNDO,
    FileChange,
    apply_to_file,
    changed_text,
    newest_backup,
    undo,
)
from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.safe_files import open_regular, read_regular
from skillopt_cli.skill_folder import make_executable
from skillopt_cli.store.atomic_files import replace_text

_ADDED = re.compile(r"(.+)\.(\d{8}T\d{6}Z)\.added")
"""Beside a file that was added: the digest of what was written, and how many folders were made."""

_NOTE = 1000
"""Bytes that a note may have."""

Written = Mapping[Path, Path | None]
"""Files that were written, and the backup of each; None for one that was not there before."""


@dataclass(frozen=True, slots=True)
class FolderChange:
    """The files that a run changed, to be written over a skill folder.

    Attributes:
        target: the user's folder.
        texts: those of the skill to write, by their path in it.
        seed: those the run started from; None where no run is known, and all texts are written.
        programs: paths of texts that may be run as programs.
        with_front_matter: as in `FileChange`, for SKILL.md.
        force: write over files that changed since the run began.
    """

    target: Path
    texts: Mapping[str, str]
    seed: Mapping[str, str] | None
    programs: frozenset[str] = frozenset()
    with_front_matter: bool = False
    force: bool = False


def apply_to_folder(change: FolderChange, now: datetime) -> Written:
    """Write the files; none is written unless all can be.

    Files that the run left as they were are not looked at.

    Raises:
        UsageError: there is no such folder, or a file of it changed since the run began.
        DataError: a file cannot be read or written.
    """
    if not (change.target / SKILL_FILE).is_file():
        raise UsageError(
            f"{change.target} is no skill folder with a SKILL.md", "name the folder to write over"
        )
    changes = list(_file_changes(change))
    added = [one for one in changes if not one.target.exists()]
    changed = [one for one in changes if one.target.exists() and changed_text(one) is not None]
    written: dict[Path, Path | None] = {one.target: apply_to_file(one, now) for one in changed}
    for one in added:
        made = sum(not folder.exists() for folder in one.target.parents)
        one.target.parent.mkdir(parents=True, exist_ok=True)
        note = one.target.with_name(f"{one.target.name}.{now.strftime(MOMENT)}.added")
        replace_text(note, f"{_digest(one.text.encode())} {made}\n", durable=True)
        replace_text(one.target, one.text, durable=True)
        if one.target.relative_to(change.target).as_posix() in change.programs:
            make_executable(one.target)
        written[one.target] = None
    return written


def unlike(change: FolderChange) -> tuple[str, ...]:
    """Paths of the skill's texts that the folder lacks, or holds otherwise. Writes nothing.

    Raises:
        DataError: a file cannot be read.
    """
    return tuple(path for path, text in change.texts.items() if _differs(change, path, text))


def _differs(change: FolderChange, path: str, text: str) -> bool:
    companion = path != SKILL_FILE
    whole = companion or change.with_front_matter
    file = change.target / path
    one = FileChange(file, text, with_front_matter=whole, companion=companion)
    return not file.is_file() or changed_text(one) is not None


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing the last apply did.

    Attributes:
        restored: by file, its backup and where the replaced text is now, as of `undo`.
        removed: files that the apply had added.
        kept: such files that changed since, which stay.
    """

    restored: Mapping[Path, tuple[Path, Path | None]]
    removed: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()


def undo_folder(target: Path, now: datetime) -> Undone:
    """Restore the files that were written last, each as `undo` does, and remove those added then.

    Raises:
        UsageError: there is nothing to undo in the folder.
        DataError: a file cannot be read or written.
    """
    files = [path for path in sorted(target.rglob("*")) if path.is_file()]
    found = {path: newest for path in files if (newest := newest_backup(path)) is not None}
    notes = {note: match for note in files if (match := _ADDED.fullmatch(note.name))}
    moments = [one.moment for one in found.values()] + [m.group(2) for m in notes.values()]
    if not moments:
        raise UsageError(f"there is no backup in {target}", NOTHING_TO_UNDO.format(target))
    last = max(moments)
    added = [note for note, match in notes.items() if match.group(2) == last]
    try:
        removed, kept = _without_added(added)
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror or error}") from error
    restored = {path: undo(path, now) for path, one in found.items() if one.moment == last}
    return Undone(restored, removed, kept)


def _without_added(notes: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Remove added files, with the folders made for them; those removed, and those that changed."""
    removed, kept, folders = list[Path](), list[Path](), set[Path]()
    for note in notes:
        match = _ADDED.fullmatch(note.name)
        file = note.with_name(match.group(1) if match else note.name)
        digest, _, made = read_regular(note, _NOTE).decode().partition(" ")
        if file.is_symlink() or (file.exists() and _digest_of(file) != digest):
            kept.append(file)
        elif file.exists():
            file.unlink()
            removed.append(file)
        note.unlink()
        folders.update(islice(file.parents, int(made) if made.strip().isdecimal() else 0))
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        # One that holds something else by now stays.
        with suppress(OSError):
            folder.rmdir()
    return tuple(removed), tuple(kept)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_of(file: Path) -> str:
    with open_regular(file) as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _file_changes(change: FolderChange) -> Iterator[FileChange]:
    """The change of each file that the run changed."""
    for path, text in change.texts.items():
        seed = change.seed.get(path) if change.seed is not None else None
        if change.seed is not None and seed == text:
            continue
        file = change.target / path
        if seed is not None and not change.force and not file.exists():
            raise UsageError(
                f"{file} was removed since the run began", "add --force to write it again"
            )
        # A file that the run added must not be there, or hold what it wrote.
        known = None if change.seed is None or change.force else seed if seed is not None else text
        companion = path != SKILL_FILE
        whole = companion or change.with_front_matter
        yield FileChange(file, text, known, with_front_matter=whole, companion=companion)
