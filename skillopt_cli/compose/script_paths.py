"""Scripts in `model.command.argv`: their relative paths become absolute.

Attempts run in folders of their own, where a relative path would lead nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from os.path import normpath, relpath
from pathlib import Path

from pydantic import BaseModel

from skillopt_cli.backends.agents.agent_settings import is_script
from skillopt_cli.compose.endpoints import backend_name
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import Resolved
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.plugins import OWN_TASKS

_SECTION = "command"
ARGV = f"model.{_SECTION}.argv"
CORRECT = (
    "correct its path, which counts from the folder of the file that sets it, else from the"
    " working folder"
)
"""What to do about a script that is no file."""
_PLACES = ("~", "-", "{", "$")
"""First characters of a word that is no path."""
_INTERPRETER = re.compile(r"(python|pypy|node|ruby|perl|php|lua|Rscript)[0-9.]*\Z")
"""Programs that end at once where the script they are given is no file."""


def with_script_paths(settled: Resolved) -> Resolved:
    """The configuration with absolute paths of the program and of the scripts it is given.

    A relative one counts from the folder of the file that sets it, else from the working folder,
    and stays as it is where neither has it, or where the skill puts it into the attempt's folder.
    """
    model = settled.config.model
    section = (model.model_extra or {}).get(_SECTION)
    if not isinstance(section, BaseModel):
        return settled
    given: Sequence[str] = getattr(section, "argv", ())
    file = settled.files.get(ARGV)
    folders = [*([file.parent] if file else []), Path.cwd()]
    skill = settled.config.env.skill_init
    beside = Path(getattr(section, "skill_file", "")).parent
    argv = tuple(
        word
        if skill and _of_skill(word, Path(skill), beside)
        else _absolute(word, folders, program=place == 0)
        for place, word in enumerate(given)
    )
    if argv == given:
        return settled
    update = {_SECTION: section.model_copy(update={"argv": argv})}
    config = settled.config.model_copy(update={"model": model.model_copy(update=update)})
    return replace(settled, config=config)


def missing_scripts(config: RunConfig) -> list[str]:
    """The scripts that the target's command names, and that are no files.

    A file that the skill puts into the attempt's folder is there.
    """
    section = (config.model.model_extra or {}).get(_SECTION)
    if backend_name(config, "target") != _SECTION or not isinstance(section, BaseModel):
        return []
    beside, skill = Path(getattr(section, "skill_file", "")).parent, config.env.skill_init
    given: Sequence[str] = getattr(section, "argv", ())
    return [
        word
        for word in given[1:]
        if is_script(word)
        and not word.startswith(_PLACES)
        and "\0" not in word
        and not Path(word).is_file()
        and not (skill and _of_skill(word, Path(skill), beside))
    ]


def check_script(config: RunConfig, skills: Sequence[SkillDocument]) -> None:
    """Refuse a command whose interpreter is given a script that no attempt can have.

    Any other word may name what an attempt makes, and files of a benchmark may lie in its folder.

    Args:
        skills: those that attempts are made with.

    Raises:
        ConfigError: the script is an absolute path without a file; or a relative one, no skill has
            a file of that path, and the tasks are a user's own, which bring no files.
    """
    # The nodes of a cluster may have other files.
    if config.run.executor == "ray" or not (missing := missing_scripts(config)):
        return
    section = config.model.section(_SECTION)
    given: Sequence[str] = getattr(section, "argv", ())
    script = next((word for word in given[1:] if word != "-u"), "")
    interpreted = _INTERPRETER.match(Path(given[0]).name)
    if script not in missing or Path(script).exists() or not interpreted:
        return
    if not script.startswith("/"):
        beside = Path(getattr(section, "skill_file", "")).parent
        path = relpath(script, beside)
        if config.env.name != OWN_TASKS or any(s.folder and s.folder.file(path) for s in skills):
            return
    raise ConfigError(f"{ARGV} names the script `{script}`, which does not exist", CORRECT)


def missing_words(script: str) -> str:
    """That a script of the command is no file."""
    return f"{ARGV} names the script `{script}`, and there is no such file"


def _of_skill(word: str, skill: Path, beside: Path) -> bool:
    """Whether a word is the path, in an attempt's folder, of a file that the skill puts there."""
    path = relpath(word, beside) if word and "\0" not in word else ".."
    return not path.startswith("..") and (skill / path).is_file()


def _absolute(word: str, folders: Sequence[Path], *, program: bool) -> str:
    """A word of a command; as an absolute path where it is that of a program or a script."""
    named = "/" in word if program else is_script(word)
    if not named or word.startswith(("/", *_PLACES)) or "\0" in word:
        return word
    found = next((path for folder in folders if (path := folder / word).is_file()), None)
    return normpath(found) if found else word
