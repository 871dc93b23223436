"""The skill a run starts from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from skillopt_cli.config import RunConfig
from skillopt_cli.config.sections import EnvConfig, OptimizerConfig
from skillopt_cli.core.errors import ConfigError, DataError, UsageError
from skillopt_cli.core.folder import SKILL_FILE
from skillopt_cli.core.skill import FRONT_MATTER, SkillDocument
from skillopt_cli.skill_folder import read_companions

_RULE = re.compile(r"---[ \t]*\r?\n")


def training_seed(config: RunConfig, shipped: str) -> SkillDocument:
    """The seed of a training, which must be able to change it.

    Raises:
        UsageError, DataError: as `seed_skill`.
        ConfigError: as `check_writable`.
    """
    seed = seed_skill(config.env, shipped)
    check_writable(seed, config.optimizer)
    return seed


def seed_skill(env: EnvConfig, shipped: str) -> SkillDocument:
    """The seed: a file or folder of the user's, an empty text, or the benchmark's own sentence.

    Raises:
        UsageError: the file does not exist, or `env.editable` does not fit it.
        DataError: the file is not readable text, says nothing, or its markers do not pair up.
    """
    path = "" if env.from_scratch else env.skill_init
    if path and Path(path).is_dir():
        return read_skill(Path(path), env.editable or (SKILL_FILE,))
    if env.editable is not None:
        raise UsageError(
            "`env.editable` is set, but the skill is no folder",
            "name a folder with a SKILL.md by `env.skill_init=FOLDER`, or leave `env.editable` out",
        )
    if env.from_scratch:
        return SkillDocument("")
    return read_skill(Path(path)) if path else SkillDocument(shipped)


def read_skill(path: Path, editable: Sequence[str] = (SKILL_FILE,)) -> SkillDocument:
    """A skill file, or a folder that holds a SKILL.md.

    Args:
        editable: see `core.folder.Folder`.

    Raises:
        UsageError: it does not exist, or `editable` does not fit it.
        DataError: it is not readable text, says nothing, its markers do not pair up, its front
            matter has no end, or `read_companions` refuses a file of the folder.
    """
    if not path.is_dir():
        return _read(path)
    if not (path / SKILL_FILE).is_file():
        raise UsageError(
            f"{path} is a folder without a {SKILL_FILE}",
            f"put one there, or name a file, such as {_some_text(path)}",
        )
    return replace(_read(path / SKILL_FILE), folder=read_companions(path, editable))


def _some_text(folder: Path) -> Path:
    """A text of a folder that may have been meant."""
    return min(folder.glob("*.md"), default=folder / "best_skill.md")


def check_writable(seed: SkillDocument, settings: OptimizerConfig) -> None:
    """Check that nothing but edits of other files is wanted where SKILL.md may not be changed.

    Raises:
        ConfigError: a setting would have it changed.
    """
    if seed.folder is None or seed.folder.may_change(SKILL_FILE):
        return
    clashes = {
        "use_slow_update": (settings.use_slow_update, "false"),
        "use_skill_aware_reflection": (settings.use_skill_aware_reflection, "false"),
        "skill_update_mode": (settings.skill_update_mode != "patch", "patch"),
    }
    for name, (wanted, other) in clashes.items():
        if wanted:
            raise ConfigError(
                f"`optimizer.{name}` has {SKILL_FILE} changed, which `env.editable` leaves out",
                f"say `optimizer.{name}={other}`, or add {SKILL_FILE} to `env.editable`",
            )


def _read(path: Path) -> SkillDocument:
    if not path.is_file():
        raise UsageError(
            f"the skill file {path.absolute()} does not exist",
            "check the path, or start from an empty skill with `env.from_scratch=true`",
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
            "start from an empty skill with `env.from_scratch=true`",
        )
    return skill
