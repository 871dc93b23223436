"""The selection and test tasks that several runs have in common, by id and content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.formatting import count
from skillopt_cli.core.task import Split
from skillopt_cli.runlog.manifest_diff import MEASURED
from skillopt_cli.runlog.text.format import one_line

_CUT = (
    *("env.split_mode", "env.split_ratio", "env.split_seed", "env.limit"),
    *("evaluation.sel_env_num", "evaluation.test_env_num"),
)
"""Settings that say which tasks of its files a split has; a manifest names no file of tasks."""


@dataclass(frozen=True, slots=True)
class SharedTasks:
    """The tasks of a split that all of some runs have with the same content.

    Attributes:
        tasks: their ids.
        sizes: how many tasks of the split each run has, in the order of the runs.
    """

    split: Split
    tasks: frozenset[str]
    sizes: tuple[int, ...]

    @property
    def same(self) -> bool:
        """Whether no run has any other task."""
        return all(size == len(self.tasks) for size in self.sizes)

    @property
    def sentence(self) -> str:
        """On which tasks the runs are compared; empty where they have the same ones."""
        if self.same:
            return ""
        all_of = "both runs" if len(self.sizes) == 2 else "all runs"
        *most, last = map(str, self.sizes)
        sizes = f"{', '.join(most)} and {last}"
        if not self.tasks:
            return f"No {self.split} task is in {all_of} (of {sizes}), so none is compared."
        tasks = count(len(self.tasks), f"{self.split} task")
        return f"Compared on the {tasks} that {all_of} have (of {sizes})."


def shared_tasks(
    manifests: Mapping[str, Mapping[str, Any]], data: Mapping[str, str]
) -> dict[Split, SharedTasks]:
    """The tasks that runs have in common, of each split whose scores a comparison shows.

    A task counts by its id and the digest of its content, and within one split only: what one run
    has tested, another may have trained on.

    Args:
        manifests: by label of the run, two or more.
        data: by label, where the tasks of a run come from, as `RunStarted` has it.

    Raises:
        UsageError: they have no such task in common; the hint has the settings that differ, and
            where the tasks come from.
    """
    found = {split: _shared(split, list(manifests.values())) for split in MEASURED}
    if any(sum(one.sizes) for one in found.values()) and not any(o.tasks for o in found.values()):
        *most, last = manifests
        raise UsageError(
            f"the runs {', '.join(most)} and {last} have no selection task and no test task in"
            " common",
            f"{_reason(manifests, data)}; compare runs on the same data, cut alike",
        )
    return found


def _shared(split: Split, manifests: list[Mapping[str, Any]]) -> SharedTasks:
    sets = [manifest["splits"].get(split, {}) for manifest in manifests]
    common = frozenset.intersection(*(frozenset(tasks.items()) for tasks in sets))
    return SharedTasks(split, frozenset(task for task, _ in common), tuple(map(len, sets)))


def _reason(manifests: Mapping[str, Mapping[str, Any]], data: Mapping[str, str]) -> str:
    """The settings of the splits that differ and the files, with what each run has."""
    sources = {label: one_line(data.get(label, "")) for label in manifests}
    origin = "; ".join(f"{label} has {words}" for label, words in sources.items() if words)
    other = len({*sources.values()}) > 1
    configs = {label: manifest["config"] for label, manifest in manifests.items()}
    apart = [key for key in _CUT if len({json.dumps(c.get(key)) for c in configs.values()}) > 1]
    if not apart and other:
        return f"their task files differ: {origin}"
    if not apart:
        return "their splits have the same settings, so a task file is another one or has changed"
    words = (
        f"`{key}` ({', '.join(f'{label}: {_value(c.get(key))}' for label, c in configs.items())})"
        for key in apart
    )
    return f"they differ in {', '.join(words)}{f'; {origin}' if other else ''}"


def _value(value: object) -> str:
    return "default" if value is None else str(value)
