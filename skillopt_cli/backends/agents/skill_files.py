"""The skill as a file, where an agent's program looks for skills."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from skillopt_cli.core.errors import DataError, FatalBackendError
from skillopt_cli.core.folder import SKILL_FILE, Folder
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.skill_folder import lay_out

NAME = "skillopt-target"
"""The skill's name where its text has none of its own."""
DESCRIPTION = "How to do the tasks given here. Use it for every task."
_USABLE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_LONGEST_NAME = 64
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A skill as an agent's program reads it.

    Attributes:
        text: of the file, front matter included.
        body: what of it comes before a model.
        folder: what lies beside it; None for a skill that is one file.
    """

    name: str
    text: str
    body: str
    folder: Folder | None = None


def skill_file(skill: SkillDocument) -> SkillFile | None:
    """The file of a skill; None for an empty one.

    A front matter of the skill's own stays as it is where it names and describes the skill; what it
    lacks is added. One that is no YAML mapping is text like any other.
    """
    if not skill.text.strip():
        return None
    found = _FRONT_MATTER.match(skill.text)
    own = _mapping(found[1]) if found else None
    body = skill.text[found.end() :] if found and own is not None else skill.text
    own = own or {}
    given = own.get("name")
    name = given if isinstance(given, str) and _usable(given) else NAME
    if found and name == given and own.get("description"):
        return SkillFile(name, skill.text, body, skill.folder)
    head = {**own, "name": name, "description": own.get("description") or DESCRIPTION}
    front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=10_000)
    return SkillFile(name, f"---\n{front}---\n\n{body}", body, skill.folder)


def place(file: SkillFile, skills: Path) -> None:
    """Write a skill into a folder of skills, byte for byte, with the files beside it.

    Raises:
        FatalBackendError: as `place_files`.
    """
    folder = skills / file.name
    folder.mkdir(parents=True)
    (folder / SKILL_FILE).write_bytes(file.text.encode(errors="backslashreplace"))
    place_files(file, folder)


def place_files(file: SkillFile, folder: Path) -> None:
    """Write the files beside SKILL.md into a folder, each executable where it was.

    Raises:
        FatalBackendError: one that is not carried along has changed, or is gone.
    """
    if file.folder is None:
        return
    try:
        lay_out(file.folder, folder)
    except DataError as error:
        raise FatalBackendError(error.message, error.hint) from error


def _usable(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and bool(_USABLE.match(name))


def _mapping(text: str) -> dict[str, object] | None:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    return value if isinstance(value, dict) else None
