"""Writing a trained skill folder over a user's own, file by file, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from skillopt_cli.compose.adopt import Adoption, adopt, newest_backup, overwritten, undo
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.folder import SKILL_FILE
from skillopt_cli.skill_folder import make_executable
from skillopt_cli.store.files import replace_text

Written = Mapping[Path, Path | None]
"""Files that were written, and the backup of each; None for one that was not there before."""


@dataclass(frozen=True, slots=True)
class FolderAdoption:
    """A wish to write what a run changed over a skill folder.

    Attributes:
        target: the user's folder.
        texts: those of the skill to write, by their path in it.
        seed: those the run started from; None where no run is known, and all texts are written.
        programs: paths of texts that may be run as programs.
        with_front_matter: as in `Adoption`, for SKILL.md.
        force: write over files that changed since the run began.
    """

    target: Path
    texts: Mapping[str, str]
    seed: Mapping[str, str] | None
    programs: frozenset[str] = frozenset()
    with_front_matter: bool = False
    force: bool = False


def adopt_folder(wish: FolderAdoption, now: datetime) -> Written:
    """Carry out the wish: nothing is written unless all of it can be.

    Files that the run left as they were are not looked at.

    Raises:
        UsageError: there is no such folder, or a file of it changed since the run began.
        DataError: a file cannot be read or written.
    """
    if not (wish.target / SKILL_FILE).is_file():
        raise UsageError(
            f"{wish.target} is no skill folder with a SKILL.md", "name the folder to write over"
        )
    wishes = list(_wishes(wish))
    added = [one for one in wishes if not one.target.exists()]
    changed = [one for one in wishes if one.target.exists() and overwritten(one) is not None]
    written: dict[Path, Path | None] = {one.target: adopt(one, now) for one in changed}
    for one in added:
        one.target.parent.mkdir(parents=True, exist_ok=True)
        replace_text(one.target, one.text, durable=True)
        if one.target.relative_to(wish.target).as_posix() in wish.programs:
            make_executable(one.target)
        written[one.target] = None
    return written


def undo_folder(target: Path, now: datetime) -> dict[Path, tuple[Path, Path]]:
    """Restore the files that were written last, each as `undo` does; files that were added stay.

    Returns:
        By file, its backup and where the replaced text is now.

    Raises:
        UsageError: there is no backup in the folder.
        DataError: a file cannot be read or written.
    """
    found = {
        path: newest
        for path in sorted(target.rglob("*"))
        if path.is_file() and (newest := newest_backup(path)) is not None
    }
    if not found:
        raise UsageError(
            f"there is no backup in {target}", "`skillopt diff-skills A B --apply` makes them"
        )
    last = max(moment for moment, _ in found.values())
    return {path: undo(path, now) for path, (moment, _) in found.items() if moment == last}


def _wishes(wish: FolderAdoption) -> Iterator[Adoption]:
    """A wish for each file that the run changed."""
    for path, text in wish.texts.items():
        seed = wish.seed.get(path) if wish.seed is not None else None
        if wish.seed is not None and seed == text:
            continue
        file = wish.target / path
        if seed is not None and not wish.force and not file.exists():
            raise UsageError(
                f"{file} was removed since the run began", "add --force to write it anew"
            )
        # A file that the run added must not be there, or hold what it wrote.
        known = None if wish.seed is None or wish.force else seed if seed is not None else text
        whole = path != SKILL_FILE or wish.with_front_matter
        yield Adoption(file, text, known, with_front_matter=whole)
