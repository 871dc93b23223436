"""The arms of a comparison: skills by name, read from where they are, and measured in one pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.compose.eval_plan import Arm
from skillopt_cli.compose.run_folder import run_of
from skillopt_cli.compose.seed_skill import read_skill, seed_skill
from skillopt_cli.compose.training_tasks import trained_in
from skillopt_cli.config import RunConfig
from skillopt_cli.config.suggestions import suggestion
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.ports import Benchmark
from skillopt_cli.reports.diff.named_skill import NamedSkill, by_id, named_skill

NONE = "none"
_SKILL = "skill"
_OF_RUN = re.compile(r"seed\Z|best\Z|[0-9]{1,9}\Z")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}\Z")
_HINT = "arms: none, seed, best, a step number, a skill file or folder, RUN:best, or NAME=SKILL"


@dataclass(frozen=True, slots=True)
class ArmNames:
    """The arms of a comparison, by name.

    Attributes:
        items: name and skill of each.
        path: the file of the skill that is named beside them.
        run: the run that `seed`, `best` and step numbers belong to.
    """

    items: dict[str, str]
    path: Path | None
    run: Path | None

    @property
    def home(self) -> Path | None:
        """The run whose benchmark and settings are meant: of that skill, else of the first arm."""
        if self.run is not None:
            return self.run
        others = (
            v for v in self.items.values() if v not in (NONE, _SKILL) and not _OF_RUN.match(v)
        )
        paths = [path for value in others if (path := _named(value).path)]
        return next((run for path in paths if (run := run_of(path))), None)

    @property
    def trained_in(self) -> tuple[Path, ...]:
        """The trainings that the arms are results of."""
        runs: list[Path | None] = []
        for value in self.items.values():
            if value == _SKILL and self.path is not None:
                runs.append(trained_in(self.path))
            elif _OF_RUN.match(value) and not Path(value).exists():
                runs.append(self.run if value.strip("0") not in ("", "seed") else None)
            elif value != NONE and (path := _named(value).path):
                runs.append(trained_in(path))
        return tuple(run for run in runs if run is not None)


def arm_names(given: Sequence[str] | None, skill: Path | None, out_root: Path) -> ArmNames:
    """The arms of a comparison.

    Args:
        given: skills, each as SKILL or NAME=SKILL; None for the one skill, or for no skill.
        skill: the file of the skill whose run `seed`, `best` and step numbers belong to.

    Raises:
        UsageError: an arm has no usable name, or two have the same.
    """
    listed = [_SKILL if skill else NONE] if given is None else [arm.strip() for arm in given]
    items: dict[str, str] = {}
    for item in listed:
        name, _, value = item.partition("=")
        name, value = (name.strip(), value.strip()) if value else (_short(item), item)
        if not _NAME.match(name) or not value:
            raise UsageError(f"the arm `{item}` is not usable", _HINT)
        if name in items:
            raise UsageError(f"two arms are called `{name}`", "name one otherwise, as NAME=SKILL")
        items[name] = by_id(value, out_root)
    run = run_of(skill) if skill else None
    return ArmNames(items, skill, run)


def _short(item: str) -> str:
    """The name of an arm that is given none."""
    last = item.rstrip("/").rpartition("/")[2].removesuffix(".md")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip("-.")[:60]


def read_arms(names: ArmNames, config: RunConfig, benchmark: Benchmark) -> tuple[Arm, ...]:
    """The skills of the arms.

    Raises:
        UsageError, DataError: one cannot be read.
    """

    def read(value: str) -> SkillDocument:
        if value == NONE:
            return SkillDocument("")
        if value == _SKILL and names.path is not None:
            return read_skill(names.path)
        if not _OF_RUN.match(value) or Path(value).exists():
            return _read(value)
        if names.run is not None:
            return _read(f"{names.run}:{value}")
        if value == "seed":
            return seed_skill(config.env, benchmark.seed_skill)
        raise UsageError(
            f"the arm `{value}` is a skill of a run, and no run is named",
            f"add --skill RUN, or write RUN:{value}",
        )

    return tuple(Arm(name, value, read(value)) for name, value in names.items.items())


def _read(name: str) -> SkillDocument:
    found = _named(name)
    # A run may have started from an empty text, which `read_skill` refuses.
    if found.run is not None or found.path is None:
        return SkillDocument(found.text, found.folder)
    return read_skill(found.path)


def _named(name: str) -> NamedSkill:
    try:
        return named_skill(name)
    except UsageError as error:
        raise UsageError(error.message, suggestion(name, (NONE, "seed", "best"), _HINT)) from None
