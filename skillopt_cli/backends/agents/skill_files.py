"""The skill as a file, in the folder where an agent program looks for skills."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from skillopt_cli.core.companion_files import SKILL_FILE, Folder
from skillopt_cli.core.errors import DataError, FatalBackendError
from skillopt_cli.core.front_matter import (
    agent_metadata,
    front_matter,
    leading_metadata,
    usable_name,
)
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.permissions import make_folder
from skillopt_cli.skill_folder import write_companions

NAME = "skillopt-target"
"""The skill's name if its text has none."""
DESCRIPTION = "How to do the tasks given here. Use it for every task."


@dataclass(frozen=True, slots=True)
class SkillCopy:
    """A skill as an agent program reads it.

    Attributes:
        text: of the file, front matter included.
        body: the part that the model sees.
        folder: the files beside it; None for a skill that is one file.
    """

    name: str
    text: str
    body: str
    folder: Folder | None = None


def skill_file(skill: SkillDocument) -> SkillCopy | None:
    """Return the file of a skill; None for an empty one.

    Its own front matter is kept byte for byte if it has a usable name and a description. Otherwise
    there is one block in the place of all metadata at the top, with what is missing added.
    """
    if not skill.text.strip():
        return None
    values, body = agent_metadata(skill.text)
    given, own = values.get("name"), front_matter(skill.text)
    name = str(given) if usable_name(given) else NAME
    whole = own is not None and len(leading_metadata(skill.text)) == 1
    if whole and name == given and values.get("description"):
        return SkillCopy(name, skill.text, body, skill.folder)
    head = {**values, "name": name, "description": values.get("description") or DESCRIPTION}
    front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=10_000)
    return SkillCopy(name, f"---\n{front}---\n\n{body}", body, skill.folder)


def place_skill(file: SkillCopy, skills: Path) -> None:
    """Write a skill into a folder of skills, byte for byte, with the files beside it.

    Raises:
        FatalBackendError: as `place_files`.
    """
    folder = skills / file.name
    make_folder(folder, exist_ok=False)
    (folder / SKILL_FILE).write_bytes(file.text.encode(errors="backslashreplace"))
    place_files(file, folder)


def place_files(file: SkillCopy, folder: Path) -> None:
    """Write the files beside SKILL.md into a folder, each executable where it was.

    Raises:
        FatalBackendError: one that is stored by reference has changed, or is missing.
    """
    if file.folder is None:
        return
    try:
        write_companions(file.folder, folder)
    except DataError as error:
        raise FatalBackendError(error.message, error.hint) from error
