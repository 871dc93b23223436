"""Labels and kinds of task that a split lacks although others have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from skillopt_cli.benchmarks.kit.ratio import BY_KIND, BY_LABEL
from skillopt_cli.benchmarks.kit.reference_checks import first_three
from skillopt_cli.core.task import SPLITS, Split, Task
from skillopt_cli.ports import BenchmarkRequest

_RECURRING = 0.9
"""Share of the tasks that must be of kinds which every split could have a task of."""


def missing_groups(
    parts: Mapping[Split, Counter[str]], usual: Sequence[str]
) -> dict[Split, list[str]]:
    """The groups in `usual` that a split has no task of; none of a split that is empty.

    Args:
        parts: how many tasks of each group a split has.
    """
    found = {
        split: [name for name in usual if not part[name]] for split, part in parts.items() if part
    }
    return {split: names for split, names in found.items() if names}


def missing_kinds(tasks: Mapping[Split, Sequence[Task]]) -> dict[Split, list[str]]:
    """The kinds of task that a split lacks, without those too rare for all splits.

    None where many tasks are of rare kinds: their kinds are then no groups.
    """
    parts = {split: Counter(task.kind for task in part) for split, part in tasks.items()}
    kinds = sum(parts.values(), Counter[str]())
    usual = [kind for kind, n in kinds.most_common() if kind.strip() and n >= len(SPLITS)]
    if sum(kinds[kind] for kind in usual) < _RECURRING * kinds.total():
        return {}
    return missing_groups(parts, usual)


def missing_words(split: Split, group: str, names: Sequence[str]) -> str:
    """What is stated of a split that lacks labels or kinds, with the first three.

    Args:
        group: "label" or "kind".
    """
    named = first_three([f"`{name[:40]}`" for name in names])
    return f"the {split} split has no task with the {group}{'s' * (len(names) > 1)} {named}"


def parts_hint(request: BenchmarkRequest, group: str = "label") -> str:
    """How a label or kind gets into a split that lacks it, by where the splits come from."""
    if request.split_dir is not None:
        return "move tasks with it there from another split, or add some"
    ratio, ending = request.split_ratio, {"label": BY_LABEL, "kind": BY_KIND}[group]
    if ratio.endswith(ending):
        return "add tasks with it"
    weights = ratio.removesuffix(BY_KIND).removesuffix(BY_LABEL)
    return f'cut the file with env.split_ratio="{weights}{ending}"'
