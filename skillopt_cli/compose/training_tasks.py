"""Which of the tasks that an evaluation measures a training of the measured skills used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.compose.benchmark import splits_in_use
from skillopt_cli.compose.fingerprint import read_manifest
from skillopt_cli.compose.run_folder import run_of
from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS, TaskSet
from skillopt_cli.ports import Benchmark
from skillopt_cli.store.layout import MANIFEST

_FIRST = Path("skills", "step_0000.md")


@dataclass(frozen=True, slots=True)
class TrainingTasks:
    """How many of the measured tasks a training read, or selected its skills by.

    Attributes:
        n: those tasks; at least 1.
        asked: all tasks that are measured.
    """

    split: TaskSet
    n: int
    asked: int

    @property
    def scope(self) -> str:
        """What a verdict on these tasks is limited to, for the start of its sentence."""
        if self.n == self.asked:
            return "On tasks that a training used"
        return f"On tasks of which a training used {self.n} of {self.asked}"

    @property
    def warning(self) -> str:
        """Why the scores are no evidence, and what to measure instead."""
        used = f"a training used {self.n} of these {self.asked} tasks"
        if self.split == "train":
            used = "a training reads the train tasks"
        elif self.split == "selection":
            used = "a training selects its skills by the selection tasks"
        other = "tasks that it did not use" if self.split == "test" else "`--split test`"
        return (
            f"Warning: {used}, so a gain on them shows nothing about others; measure with {other}"
        )


def trained_in(path: Path | None) -> Path | None:
    """The training that a skill is a result of; None for a seed, any other file and no file."""
    run = run_of(path) if path else None
    if path is None or run is None or not (run / _FIRST).is_file():
        return None
    return None if path.resolve().with_suffix("") == (run / _FIRST).with_suffix("") else run


def training_tasks(
    config: RunConfig, benchmark: Benchmark, chosen: TaskSet, runs: Iterable[Path | None]
) -> TrainingTasks | None:
    """The measured tasks that trainings used; None where there are none.

    A task counts by its content, so that another file or cut with the same task is found too. The
    train split counts whole: a skill without a known run may have been trained on it.

    Args:
        runs: the trainings that the measured skills are results of; None counts as no training.
    """
    measured = (
        [task for split in SPLITS for task in benchmark.tasks(split)]
        if chosen == "all"
        else list(splits_in_use(config, benchmark, chosen)[chosen])
    )
    used = frozenset[str]().union(*(_used(run) for run in runs if run is not None))
    n = sum(chosen == "train" or task.digest[:16] in used for task in measured)
    return TrainingTasks(chosen, n, len(measured)) if n else None


def _used(run: Path) -> set[str]:
    """The digests of the train and selection tasks of a run, as its manifest has them."""
    try:
        splits = read_manifest(run / MANIFEST)["splits"]
    except DataError:
        return set()
    return {digest for split in ("train", "selection") for digest in splits.get(split, {}).values()}
