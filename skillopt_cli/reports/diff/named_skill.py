"""Skills as they are named on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.compose.eval_plan import read_evaluation
from skillopt_cli.compose.run_folder import find_run, run_of
from skillopt_cli.core.companion_files import SKILL_FILE, Folder
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.skill_folder import read_companions, read_skill_text
from skillopt_cli.store.layout import CONFIG, EVALUATION

BEST = "best_skill"
SEED = Path("skills", "step_0000.md")
_STEP = re.compile(r"[0-9]{1,9}\Z")
_HINT = "write a skill file or folder, a run folder, or RUN:best, RUN:seed, RUN:<step number>"


@dataclass(frozen=True, slots=True)
class NamedSkill:
    """A skill text, byte for byte, and where it comes from.

    Attributes:
        name: as written on the command line.
        text: of a skill folder, that of its SKILL.md.
        run: the run folder it lies in, None outside of runs.
        step: the step it was in force after, None where the name does not say.
        path: its file, or folder.
        folder: what lies beside it, None where it is one file.
    """

    name: str
    text: str
    run: Path | None = None
    step: int | None = None
    path: Path | None = None
    folder: Folder | None = None

    @property
    def best_of(self) -> Path | None:
        """The run whose best skill it is, which changes while that works."""
        if self.run is None or self.path is None:
            return None
        best = self.path.resolve().with_suffix("") == self.run.resolve() / BEST
        return self.run if best else None

    @property
    def texts(self) -> Mapping[str, str]:
        """Every text by its path in a skill folder."""
        return SkillDocument(self.text, self.folder).texts


def named_skill(name: str) -> NamedSkill:
    """The skill of this name.

    Args:
        name: a file; a skill folder; a run folder (its best skill; of a pruning, what it wrote); or
            `RUN:best`, `RUN:seed`, `RUN:<step>` for the skill in force after that step.

    Raises:
        UsageError: there is no such skill.
        DataError: `read_skill_text` refuses it, or a file of a skill folder cannot be read.
    """
    path, run, step = _locate(name)
    if path.is_dir():
        folder = read_companions(path)
        return NamedSkill(name, read_skill_text(path / SKILL_FILE), run, step, path, folder)
    return NamedSkill(name, read_skill_text(path), run, step, path)


def by_id(name: str, out_root: Path) -> str:
    """The name of a skill with a run's folder in place of its id."""
    run, colon, which = name.partition(":")
    if Path(name).exists() or Path(run).exists() or not list(out_root.glob(f"*/{run}/{CONFIG}")):
        return name
    return f"{find_run(run, out_root)}{colon}{which}"


def skill_path(name: str, out_root: Path) -> Path:
    """The file or folder of the skill of this name, in which a run may be named by its id.

    Raises:
        UsageError: there is no such skill, or the id belongs to several runs.
    """
    path, _, _ = _locate(by_id(name, out_root))
    return path


def seed_of(run: Path) -> str:
    """The text a run started from.

    Raises:
        UsageError: the run folder does not hold it.
        DataError: `read_skill_text` refuses it.
    """
    return read_skill_text(_existing(run / SEED, str(run)))


def _locate(name: str) -> tuple[Path, Path | None, int | None]:
    path = Path(name)
    if path.is_file() or (path / SKILL_FILE).is_file():
        around = run_of(path)
        return path, around if around and (around / SEED).is_file() else None, None
    if path.is_dir() and (pruned := _pruned(path)):
        if Path(pruned).exists():
            return _locate(pruned)
        raise UsageError(f"the pruned skill of {name} is not at {pruned} any more", _HINT)
    if path.is_dir():
        return _kept(path / BEST, name), path, None
    folder, _, which = name.rpartition(":")
    run = Path(folder)
    if not folder or not run.is_dir():
        raise UsageError(f"there is no skill or run folder {name}", _HINT)
    if which == "best":
        return _kept(run / BEST, name), run, None
    if which == "seed" or _STEP.match(which):
        number = 0 if which == "seed" else int(which)
        return _kept(run / "skills" / f"step_{number:04d}", name), run, number
    raise UsageError(f"`{which}` in {name} is neither a step number nor best or seed", _HINT)


def _pruned(folder: Path) -> str:
    """Where a pruning wrote the skill; empty for the folder of any other run."""
    if not (folder / EVALUATION).is_file():
        return ""
    return str(read_evaluation(folder).get("file", ""))


def _kept(skill: Path, name: str) -> Path:
    """A run's copy of a skill: the folder if it is one, else the file."""
    return skill if skill.is_dir() else _existing(skill.with_name(f"{skill.name}.md"), name)


def _existing(path: Path, name: str) -> Path:
    if not path.is_file():
        raise UsageError(f"{name} has no {path.name}", _HINT)
    return path
