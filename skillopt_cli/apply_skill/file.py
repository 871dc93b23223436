"""Writes a trained skill over a user's file, keeps a backup, and restores it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.front_matter import agent_metadata
from skillopt_cli.core.skill import FRONT_MATTER, SkillDocument
from skillopt_cli.safe_files import open_regular, read_regular
from skillopt_cli.skill_folder import MOST_BYTES, read_skill_text
from skillopt_cli.store.atomic_files import replace_text

_BACKUP = re.compile(r"\.(\d{8}T\d{6}Z)(?:-(\d+))?(?:\.([0-9a-f]{12}))?\.bak\Z")
"""What follows a file's name in that of its backup: moment, number within it, and the digest of
what was written in its place, which earlier versions left out."""
NOTHING_TO_UNDO = (
    "each `--apply` is undone once, and nothing is left to undo;"
    " `skillopt diff-skills RUN --apply {}` writes the best skill of a run and keeps a backup"
)
"""What to do where there is no backup; lacks the target."""
MOMENT = "%Y%m%dT%H%M%SZ"
"""How the names of backups write a moment."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A skill to be written over a file.

    Attributes:
        target: the user's file.
        text: the skill to write.
        seed: the text the run started from, which the file must still hold; None where no run is
            known, and with `force`.
        with_front_matter: take over the skill's YAML front matter too; else the file keeps its own,
            which then need not be the seed's.
        companion: whether it is a file beside SKILL.md, which may hold control characters.
    """

    target: Path
    text: str
    seed: str | None = None
    with_front_matter: bool = False
    companion: bool = False


def apply_to_file(change: FileChange, now: datetime) -> Path | None:
    """Write the skill; the backup that was made, None when the file holds the text already.

    Raises:
        UsageError: there is no such file, or it changed since it was the run's seed.
        DataError: a file cannot be read or written, or region markers do not pair up.
    """
    text = changed_text(change)
    if text is None:
        return None
    target = _existing(change.target)
    moment = now.strftime(MOMENT)
    known = [one.number for one in _backups(target) if one.moment == moment]
    written = _short_digest(text.encode(errors="backslashreplace"))
    backup = _copy(target, now, f"{written}.bak", max(known, default=0) + 1)
    _replace(target, text)
    return backup


def changed_text(change: FileChange) -> str | None:
    """What the file will hold, None when it holds that already. Writes nothing.

    Raises:
        UsageError, DataError: as `apply_to_file`.
    """
    held = read_skill_text(_existing(change.target), companion=change.companion)
    text = change.text
    if not change.companion:
        text = applied_text(held, text, with_front_matter=change.with_front_matter)
    if text == held:
        return None
    if change.seed is not None and _compared(held, change) != _compared(change.seed, change):
        raise UsageError(
            f"{change.target} is not the seed of the run any more: it changed since",
            "compare it with the run's seed, then add --force to write over it; a backup is kept",
        )
    return text


def applied_text(held: str, text: str, *, with_front_matter: bool) -> str:
    """What the file will hold: the skill, below the file's own front matter or with its own. Pure.

    Our marks are not in it. A file that holds the skill already, apart from them, stays as it is.

    Raises:
        DataError: region markers of either text do not pair up.
    """
    if with_front_matter:
        return SkillDocument(text).shipped(held)
    front = _front(held)
    # Below metadata of the file's own there is no other, wherever it stood in the skill.
    body = agent_metadata(text)[1] if front else text[len(_front(text)) :]
    return front + SkillDocument(body).shipped(held[len(front) :])


def undo(target: Path, now: datetime) -> tuple[Path, Path | None]:
    """Restore the newest backup, which is used up.

    A text that changed since `apply_to_file` wrote it is kept beside the file.

    Returns:
        The backup, and where the replaced text is now; None where it is as it was written.

    Raises:
        UsageError: there is no such file, or no backup of it.
        DataError: a file cannot be read or written.
    """
    real = _existing(target)
    newest = newest_backup(real)
    if newest is None:
        raise UsageError(f"there is no backup of {target}", NOTHING_TO_UNDO.format(target))
    try:
        as_written = newest.written == _short_digest(read_regular(real, MOST_BYTES))
        kept = None if as_written else _copy(real, now, "undone")
        newest.path.replace(real)
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror or error}") from error
    return newest.path, kept


@dataclass(frozen=True, slots=True, order=True)
class Backup:
    """A backup of a file.

    Attributes:
        moment: when it was made, as `MOMENT`.
        number: its place among those of the same moment, from 1.
        written: digest of the text that was written in its place; "" where that is unknown.
    """

    moment: str
    number: int
    path: Path
    written: str


def newest_backup(target: Path) -> Backup | None:
    """The newest backup of a file, None where there is none."""
    return max(_backups(target), default=None)


def _backups(target: Path) -> Iterator[Backup]:
    for path in target.parent.iterdir():
        found = _BACKUP.match(path.name[len(target.name) :])
        if path.name.startswith(target.name) and found and path.is_file():
            yield Backup(found[1], int(found[2] or 1), path, found[3] or "")


def _short_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _copy(target: Path, now: datetime, ending: str, number: int = 1) -> Path:
    """A copy of the file beside it, named for the moment; an existing one is never written over.

    Args:
        number: the first to try in its name.
    """
    stamp = now.strftime(MOMENT)
    while True:
        again = f"-{number}" if number > 1 else ""
        path = target.with_name(f"{target.name}.{stamp}{again}.{ending}")
        try:
            with path.open("xb") as file, open_regular(target) as held:
                shutil.copyfileobj(held, file)
                file.flush()
                os.fsync(file.fileno())
            shutil.copystat(target, path)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise DataError(
                f"no copy of {target} can be made: {error.strerror or error}",
                "correct the folder's permissions, or free disk space",
            ) from error
        else:
            return path


def _replace(target: Path, text: str) -> None:
    mode = target.stat().st_mode
    replace_text(target, text, durable=True)
    target.chmod(mode)


def _compared(text: str, change: FileChange) -> str:
    """What must not have changed. Line ends at the very end are not looked at."""
    return (text if change.with_front_matter else text[len(_front(text)) :]).rstrip("\r\n")


def _front(text: str) -> str:
    return next((r.inner for r in SkillDocument(text).regions if r.name == FRONT_MATTER), "")


def _existing(target: Path) -> Path:
    """The file to write: a link is followed, so that it stays one."""
    if not target.is_file():
        what = "is a folder" if target.is_dir() else "does not exist"
        raise UsageError(f"the skill file {target} {what}", "name the SKILL.md to write over")
    return target.resolve() if target.is_symlink() else target
