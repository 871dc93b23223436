"""One file of the skills of a run: where its texts lie, and what an edit makes of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.core.companion_files import SKILL_FILE, Companion, Folder, inner
from skillopt_cli.core.edits import Edit, apply_edits
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.safe_files import read_regular


@dataclass(frozen=True, slots=True)
class SkillFile:
    """SKILL.md, which is all of a skill that is no folder, or a file beside it."""

    path: str = SKILL_FILE

    @property
    def is_text_of_skill(self) -> bool:
        """Whether it is the one with protected regions."""
        return self.path == SKILL_FILE

    def of(self, skill: Path) -> str | None:
        """Its text in a run's copy `skill`, a path without ending; None where there is none.

        Raises:
            DataError: it cannot be read.
        """
        path = skill.with_name(f"{skill.name}.md") if self.is_text_of_skill else skill / self.path
        if not path.is_file():
            return None
        try:
            return read_regular(path).decode()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read: {error}", "restore it from a copy") from error

    def is_changed_by(self, edit: Edit) -> bool:
        """Whether an applied edit is one of this file."""
        return inner(edit.file or SKILL_FILE) == self.path

    def edited(self, text: str, edit: Edit) -> str:
        """The text after an edit of this file."""
        if self.is_text_of_skill:
            return apply_edits(SkillDocument(text), [edit]).skill.text
        folder = Folder((Companion(self.path, text),), ("**",))
        return apply_edits(SkillDocument("", folder), [edit]).skill.texts[self.path]

    def body(self, text: str) -> str:
        """What steps may change, without the blank lines that planting a region leaves behind."""
        if not self.is_text_of_skill:
            return text
        try:
            return SkillDocument(text).body.rstrip()
        except DataError:
            return text
