"""Skill folders compared: one comparison per file that differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from skillopt_cli.core.companion_files import SKILL_FILE, Companion, Folder
from skillopt_cli.reports.diff.blame import blame
from skillopt_cli.reports.diff.named_skill import NamedSkill
from skillopt_cli.reports.diff.patch import document
from skillopt_cli.reports.diff.skill_diff import SkillDiff, compare
from skillopt_cli.runlog.text.format import count


@dataclass(frozen=True, slots=True)
class FolderDiff:
    """Two skills compared, at least one of which is a folder; the other may be one file.

    Attributes:
        files: the comparisons of text files that differ or are there once only, by path, SKILL.md
            first.
        others: differences of the rest, by path: binary files that differ, and files that differ
            in being executable.
    """

    a: str
    b: str
    files: tuple[tuple[str, SkillDiff], ...]
    others: tuple[tuple[str, str], ...]

    @property
    def equal(self) -> bool:
        """Whether all files are the same to the byte."""
        return not self.files and not self.others

    @property
    def headline(self) -> str:
        """The summary in one line."""
        added = sum(diff.added for _, diff in self.files)
        removed = sum(diff.removed for _, diff in self.files)
        changed = len({path for path, _ in (*self.files, *self.others)})
        lines = f"{count(added, 'line')} added, {removed:,} removed"
        return f"{count(changed, 'file')} changed: {lines}"

    def document(self) -> dict[str, Any]:
        """The comparison as one JSON document."""
        return {
            "a": self.a,
            "b": self.b,
            "equal": self.equal,
            "files": [{"path": path, **document(diff)} for path, diff in self.files],
            "others": [{"path": path, "what": what} for path, what in self.others],
        }


def diff_folders(a: NamedSkill, b: NamedSkill) -> FolderDiff:
    """Compare two skills file by file; two of one run with what made them differ.

    Raises:
        DataError: the run's copies of its steps cannot be read.
    """
    old, new = a.texts, b.texts
    paths = [SKILL_FILE, *sorted({*old, *new} - {SKILL_FILE})]
    files = tuple((path, _compared(a, b, path)) for path in paths if old.get(path) != new.get(path))
    return FolderDiff(a.name, b.name, files, tuple(_others(a.folder, b.folder)))


def _compared(a: NamedSkill, b: NamedSkill, path: str) -> SkillDiff:
    first, second = (
        (f"{named.name.rstrip('/')}/{path}", named.texts.get(path, "")) for named in (a, b)
    )
    return compare(first, second, blame(a, b, path), guarded=path == SKILL_FILE)


def _others(a: Folder | None, b: Folder | None) -> Iterator[tuple[str, str]]:
    old, new = ({f.path: f for f in folder.files} if folder else {} for folder in (a, b))
    for path in sorted({*old, *new}):
        before, after = old.get(path), new.get(path)
        if before is None or after is None or (before.text is None and after.text is None):
            if what := _moved(before, after):
                yield path, f"the binary file {what}"
        elif (before.text is None) != (after.text is None):
            yield path, f"it is {'no text any more' if after.text is None else 'a text now'}"
        if before and after and before.executable != after.executable:
            yield path, f"it is {'now' if after.executable else 'no longer'} executable"


def _moved(before: Companion | None, after: Companion | None) -> str:
    """What became of a binary file; empty for nothing, and for texts, which are shown."""
    if before is None or after is None:
        only = before or after
        return "" if only is None or only.text is not None else "is new" if after else "is gone"
    return "differs" if before.digest != after.digest else ""
