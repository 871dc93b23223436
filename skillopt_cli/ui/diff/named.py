"""Skills as they are named on the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.compose.folder import run_of
from skillopt_cli.core.errors import DataError, UsageError

SEED = Path("skills", "step_0000.md")
_STEP = re.compile(r"[0-9]+\Z")
_HINT = "write a skill file, a run folder, or RUN:best, RUN:seed, RUN:<step number>"


@dataclass(frozen=True, slots=True)
class NamedSkill:
    """A skill text, byte for byte, and where it comes from.

    Attributes:
        name: as written on the command line.
        run: the run folder it lies in, None outside of runs.
        step: the step it was in force after, None where the name does not say.
        path: its file.
    """

    name: str
    text: str
    run: Path | None = None
    step: int | None = None
    path: Path | None = None


def named_skill(name: str) -> NamedSkill:
    """The skill of this name.

    Args:
        name: a file; a run folder (its best skill); or `RUN:best`, `RUN:seed`, `RUN:<step>` for the
            skill in force after that step.

    Raises:
        UsageError: there is no such skill.
        DataError: the file is not UTF-8 text.
    """
    path, run, step = _locate(name)
    return NamedSkill(name, _read(path), run, step, path)


def seed_of(run: Path) -> str:
    """The text a run started from.

    Raises:
        UsageError: the run folder does not hold it.
        DataError: it is not UTF-8 text.
    """
    return _read(_existing(run / SEED, str(run)))


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 text (byte {error.start})", "name a Markdown file"
        ) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", _HINT) from error


def _locate(name: str) -> tuple[Path, Path | None, int | None]:
    path = Path(name)
    if path.is_file():
        around = run_of(path)
        return path, around if around and (around / SEED).is_file() else None, None
    if path.is_dir():
        return _existing(path / "best_skill.md", name), path, None
    folder, _, which = name.rpartition(":")
    run = Path(folder)
    if not folder or not run.is_dir():
        raise UsageError(f"there is no skill or run folder {name}", _HINT)
    if which == "best":
        return _existing(run / "best_skill.md", name), run, None
    if which == "seed" or _STEP.match(which):
        number = 0 if which == "seed" else int(which)
        return _existing(run / "skills" / f"step_{number:04d}.md", name), run, number
    raise UsageError(f"`{which}` in {name} is neither a step number nor best or seed", _HINT)


def _existing(path: Path, name: str) -> Path:
    if not path.is_file():
        raise UsageError(f"{name} has no {path.name}", _HINT)
    return path
