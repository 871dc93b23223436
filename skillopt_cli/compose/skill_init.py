"""The skill a run starts from."""

from __future__ import annotations

from pathlib import Path

from skillopt_cli.config.sections import EnvConfig
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.skill import SkillDocument


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
        DataError: it is not readable text, says nothing, or its markers do not pair up.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder", f"name a file, such as {path / 'best_skill.md'}")
    if not path.is_file():
        raise UsageError(
            f"the skill file {path} does not exist",
            "check the path, or start from an empty skill with --from-scratch",
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read the skill file {path}: {error}") from None
    skill = SkillDocument(text)
    if not skill.has_instructions:
        raise DataError(
            f"the skill file {path} holds no instructions",
            "start from an empty skill with --from-scratch",
        )
    return skill
