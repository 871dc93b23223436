"""The skill a run starts from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from skillopt_cli.compose.endpoints import backend_name
from skillopt_cli.config import RunConfig
from skillopt_cli.config.env_section import EnvConfig
from skillopt_cli.config.sections import OptimizerConfig
from skillopt_cli.core.companion_files import SKILL_FILE, Folder, listed_files
from skillopt_cli.core.control_characters import controls_told
from skillopt_cli.core.errors import ConfigError, DataError, UsageError
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.formatting import count
from skillopt_cli.core.front_matter import fault_of_metadata, limits_exceeded, metadata_notice
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.plugins import load_backend
from skillopt_cli.ports import BackendSpec
from skillopt_cli.skill_folder import read_companions, read_skill_text
from skillopt_cli.stages import Variants

_PATH = re.compile(r"[\w.-]*[\w-](?:/[\w.-]+|\.\w[\w.-]*)+")
"""Words of a text that may be the path of a file: with a folder or a suffix."""
_LONGEST_PATH = 200
_INVISIBLE = re.compile(r"[\ufeff\u200b-\u200d\u2060]")


def training_seed(config: RunConfig, shipped: str) -> SkillDocument:
    """The seed of a training, which must be able to change it.

    Raises:
        UsageError, DataError: as `seed_skill`.
        ConfigError: as `check_writable` and `files_not_edited`.
    """
    seed = seed_skill(config.env, shipped)
    check_writable(seed, config.optimizer)
    files_not_edited(seed, config)
    return seed


def seed_skill(env: EnvConfig, shipped: str) -> SkillDocument:
    """The seed: a file or folder of the user's, an empty text, or the benchmark's own sentence.

    Raises:
        UsageError: the file does not exist, or `env.editable` does not fit it.
        DataError: the file is not readable text, is empty, or its markers do not pair up.
    """
    path = "" if env.from_scratch else env.skill_init
    if path and Path(path).is_dir():
        return read_skill(Path(path), env.editable or (SKILL_FILE,))
    if path and not Path(path).exists():
        raise _missing(Path(path))
    if env.editable is not None:
        raise UsageError(
            "`env.editable` is set, but the skill is no folder",
            "name a folder with a SKILL.md by `env.skill_init=FOLDER`, or leave `env.editable` out",
        )
    if env.from_scratch:
        return SkillDocument("")
    return read_skill(Path(path)) if path else _shipped(env.name, shipped)


def read_skill(path: Path, editable: Sequence[str] = (SKILL_FILE,)) -> SkillDocument:
    """A skill file, or a folder that holds a SKILL.md.

    Args:
        editable: see `core.folder.Folder`.

    Raises:
        UsageError: it does not exist, or `editable` does not fit it.
        DataError: `read_skill_text` refuses it, it is empty, its markers do not pair up, its front
            matter has no end or is no YAML, or `read_companions` refuses a file of the folder.
    """
    if not path.is_dir():
        return _read(path)
    if not (path / SKILL_FILE).is_file():
        raise UsageError(
            f"{path} is a folder without a {SKILL_FILE}",
            "put one there, or name a file, such as"
            f" {min(path.glob('*.md'), default=path / 'best_skill.md')}",
        )
    return replace(_read(path / SKILL_FILE), folder=read_companions(path, editable))


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


def check_loadable(skills: Iterable[SkillDocument], target: BackendSpec) -> None:
    """Check that a target which looks for skills as files will load these.

    Raises:
        DataError: a name or a description exceeds a limit of such programs.
    """
    for skill in skills if target.loads_skills else ():
        if faults := list(limits_exceeded(skill.text)):
            raise DataError(
                f"{target.name} would not load the skill: {'; '.join(faults)}",
                "correct the front matter of the skill",
            )


def skill_notices(skills: Iterable[SkillDocument]) -> tuple[Degraded, ...]:
    """What is unusual about skills, each thing once: metadata, and globs that match no file."""
    said = dict.fromkeys(
        notice
        for skill in skills
        for notice in (metadata_notice(skill.text), _unmatched_words(skill.folder))
    )
    return tuple(Degraded("skill", notice) for notice in said if notice)


def _unmatched_words(folder: Folder | None) -> str:
    """That globs of `env.editable` match no file, with the files there; "" where all match."""
    if folder is None or not folder.unmatched:
        return ""
    named = ", ".join(f"`{pattern}`" for pattern in folder.unmatched)
    one = len(folder.unmatched) == 1
    return (
        f"{named} in `env.editable` {'matches' if one else 'match'} no file of the skill folder, so"
        f" only a new file can be written there; text files beside {SKILL_FILE}:"
        f" {listed_files(folder)}"
    )


def read_only_files(seed: SkillDocument, config: RunConfig) -> int:
    """How many files beside SKILL.md an optimizer could edit, were `env.editable` set."""
    settable = config.env.editable is None and config.optimizer.skill_update_mode == "patch"
    return len(seed.folder.texts) if seed.folder and settable else 0


def files_not_edited(seed: SkillDocument, config: RunConfig) -> str:
    """That the optimizer edits SKILL.md alone, where `env.editable` names more; "" elsewhere.

    Raises:
        ConfigError: SKILL.md may not be edited, so that nothing is left for it.
    """
    name = backend_name(config, "optimizer")
    stages = load_backend(name).stages
    if not (isinstance(stages, Variants) and stages.text_alone):
        return ""
    if seed.folder is None or not seed.folder.more_editable:
        return ""
    if not seed.folder.may_change(SKILL_FILE):
        raise ConfigError(
            f"the optimizer `{name}` edits {SKILL_FILE} only, which `env.editable` leaves out",
            f"add {SKILL_FILE} to `env.editable`, or choose a model as the optimizer",
        )
    return f"`{name}` edits {SKILL_FILE} only; what else `env.editable` names stays as it is"


def files_left_out(skill: SkillDocument, path: Path) -> tuple[Degraded, ...]:
    """That files are left out which lie beside a SKILL.md and which it names."""
    if skill.folder is not None or path.name != SKILL_FILE:
        return ()
    words = dict.fromkeys(word.rstrip(".") for word in _PATH.findall(skill.text))
    found = [
        word
        for word in words
        if len(word) <= _LONGEST_PATH
        and word != SKILL_FILE
        and ".." not in word.split("/")
        and (path.parent / word).is_file()
    ]
    if not found:
        return ()
    several = len(found) > 1
    others = f" and {count(len(found) - 1, 'more file', 'more files')}" if several else ""
    reason = (
        f"`{found[0]}`{others} beside {path} {'are' if several else 'is'} left out, although the"
        f" skill names {'them' if several else 'it'}; give the folder {path.parent} instead of its"
        f" {SKILL_FILE} to take all of it along"
    )
    return (Degraded("skill", reason),)


def _shipped(benchmark: str, text: str) -> SkillDocument:
    """The seed skill of a benchmark, which may be a plug-in's or an option of the user."""
    if not isinstance(text, str):
        fault = f"is {type(text).__name__}, not text"
    elif told := controls_told(text):
        fault = f"holds {told}"
    elif wrong := fault_of_metadata(text):
        fault = f"has front matter that {wrong}"
    else:
        return SkillDocument(text)
    raise DataError(
        f"the seed skill of the benchmark `{benchmark}` {fault}",
        "correct it in the benchmark or in its `env.seed_skill`, or name a file with"
        " `env.skill_init=FILE`",
    )


def _read(path: Path) -> SkillDocument:
    if not path.is_file():
        raise _missing(path)
    return checked_skill(read_skill_text(path), path)


def _missing(path: Path) -> UsageError:
    return UsageError(
        f"the skill file {path.absolute()} does not exist",
        "check the path; a seed that was moved is named by `env.skill_init=FILE`, an empty one"
        " by `env.from_scratch=true`",
    )


def checked_skill(text: str, path: Path) -> SkillDocument:
    """The skill in the text of a file. Pure.

    Raises:
        DataError: it is empty, its markers do not pair up, or its front matter has no end or is no
            YAML.
    """
    if fault := fault_of_metadata(text):
        raise DataError(
            f"the front matter of the skill file {path} {fault}",
            "write `key: value` lines between two lines `---`, a value with a colon in quotes, or"
            " put an empty line above it to have it read as text",
        )
    skill = SkillDocument(text)
    if not _INVISIBLE.sub("", skill.body).strip():
        what = "metadata and no" if skill.regions else "no"
        raise DataError(
            f"the skill file {path} holds {what} instructions",
            "write them below, or start from an empty skill with `env.from_scratch=true`",
        )
    return skill
