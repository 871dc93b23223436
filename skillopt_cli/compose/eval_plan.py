"""What an evaluation measures, kept so that a resume needs no more, and what it found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from skillopt_cli.compose.seed_skill import read_skill
from skillopt_cli.compose.training_tasks import TrainingTasks
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import TaskSet
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.atomic_files import replace_folder, replace_text
from skillopt_cli.store.layout import ANSWERS, EVAL_PLAN, EVALUATION

_ARMS = "arms"


@dataclass(frozen=True, slots=True)
class Arm:
    """A skill under the name it has in a comparison.

    Attributes:
        given: where it comes from, as the user wrote it.
    """

    name: str
    given: str
    skill: SkillDocument


@dataclass(frozen=True, slots=True)
class EvalPlan:
    """Skills to measure on the same tasks, or one to answer tasks with.

    Attributes:
        repeats: draws of each task.
        targets: models to measure with, one after the other; empty for the configured one.
        lint: whether to report on tasks that show nothing.
        pruned: where the only skill is written without its useless blocks; empty in a comparison.
        scored: whether attempts are scored; where not, the only skill answers each task once.
        out: where the table of answers is written too; empty for the run folder alone.
        used: the tasks of a comparison that a training of its arms used; None where there are none.
    """

    arms: tuple[Arm, ...]
    split: TaskSet
    repeats: int = 1
    targets: tuple[str, ...] = ()
    lint: bool = False
    pruned: str = ""
    scored: bool = True
    out: str = ""
    used: TrainingTasks | None = None

    @property
    def skills(self) -> dict[str, SkillDocument]:
        """The skills by name."""
        return {arm.name: arm.skill for arm in self.arms}

    @property
    def result(self) -> str:
        """The file of the run folder that a finished evaluation has written."""
        return EVALUATION if self.scored else ANSWERS


@dataclass(frozen=True, slots=True)
class _Written:
    """The content of `eval_plan.json`; the skills lie beside it."""

    arms: Mapping[str, str]
    split: TaskSet
    repeats: int
    targets: tuple[str, ...]
    lint: bool
    pruned: str = ""
    scored: bool = True
    out: str = ""
    used: TrainingTasks | None = None
    schema: int = 1


_DOCUMENT = TypeAdapter(_Written)


def write_plan(folder: Path, plan: EvalPlan) -> None:
    """Write a plan and its skills into a run folder.

    Raises:
        DataError: the disk is full or the folder not writable.
    """
    for arm in plan.arms:
        replace_text(folder / _ARMS / f"{arm.name}.md", arm.skill.text)
        if arm.skill.folder is not None:
            replace_folder(folder / _ARMS / arm.name, arm.skill)
    given = {arm.name: arm.given for arm in plan.arms}
    written = _Written(
        given,
        plan.split,
        plan.repeats,
        plan.targets,
        plan.lint,
        plan.pruned,
        plan.scored,
        plan.out,
        plan.used,
    )
    text = json.dumps(_DOCUMENT.dump_python(written, mode="json"), ensure_ascii=False, indent=1)
    replace_text(folder / EVAL_PLAN, f"{text}\n")


def read_plan(folder: Path) -> EvalPlan:
    """The plan that a run folder holds.

    Raises:
        DataError: it, or one of its skills, cannot be read.
    """
    try:
        written = _DOCUMENT.validate_json(read_regular(folder / EVAL_PLAN))
        arms = tuple(
            Arm(name, given, _read_arm(folder, name)) for name, given in written.arms.items()
        )
    except (OSError, ValidationError, UnicodeDecodeError):
        raise DataError(
            f"the plan of the evaluation {folder} cannot be read", "evaluate again"
        ) from None
    return EvalPlan(
        arms,
        written.split,
        written.repeats,
        written.targets,
        written.lint,
        written.pruned,
        written.scored,
        written.out,
        written.used,
    )


def _read_arm(folder: Path, name: str) -> SkillDocument:
    home = folder / _ARMS / name
    if home.is_dir():
        return read_skill(home)
    return SkillDocument(read_regular(home.with_name(f"{name}.md")).decode())


def write_evaluation(folder: Path, document: Mapping[str, Any]) -> None:
    """Write `eval_summary.json`.

    Raises:
        DataError: the disk is full or the folder not writable.
    """
    text = json.dumps(document, ensure_ascii=False, indent=2)
    replace_text(folder / EVALUATION, f"{text}\n")


def read_evaluation(folder: Path) -> dict[str, Any]:
    """The content of `eval_summary.json`.

    Raises:
        DataError: it cannot be read.
    """
    try:
        found = json.loads(read_regular(folder / EVALUATION))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DataError(f"{folder / EVALUATION} cannot be read", "evaluate again")
    return found
