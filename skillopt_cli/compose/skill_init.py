"""The skill a run starts from."""

from __future__ import annotations

import re
from pathlib import Path

from skillopt_cli.config.sections import EnvConfig
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.skill import FRONT_MATTER, SkillDocument

_RULE = re.compile(r"---[ \t]*\r?\n")


def seed_skill(env: EnvConfig, shipped: str) -> SkillDocument:
    """The seed: a file of the user's, an empty text, or the benchmark's own one-sentence skill.

    Raises:
        UsageError: the file does not exist.
        DataError: the file is not readable text, says nothing, or its markers do not pair up.
    """
    if env.from_scratch:
        return SkillDocument("")
    if not env.skill_init:
        return SkillDocument(shipped)
    return read_skill(Path(env.skill_init))


def read_skill(path: Path) -> SkillDocument:
    """A skill file.

    Raises:
        UsageError: it does not exist.
        DataError: it is not readable text, says nothing, its markers do not pair up, or its front
            matter has no end.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder", f"name a file, such as {path / 'best_skill.md'}")
    if not path.is_file():
        raise UsageError(
            f"the skill file {path.absolute()} does not exist",
            "check the path, or start from an empty skill with --from-scratch",
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(
            f"cannot read the skill file {path}: {error.strerror}", "mend its permissions"
        ) from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise DataError(
            f"the skill file {path} is not UTF-8 text",
            "name a Markdown file; one in another encoding has to be saved anew as UTF-8",
        )
    skill = SkillDocument(text)
    if _RULE.match(text) and not any(r.name == FRONT_MATTER for r in skill.regions):
        raise DataError(
            f"the front matter of the skill file {path} has no end",
            "write a line `---` below it, or remove the one at the top",
        )
    if not skill.has_instructions:
        raise DataError(
            f"the skill file {path} holds no instructions",
            "start from an empty skill with --from-scratch",
        )
    return skill
