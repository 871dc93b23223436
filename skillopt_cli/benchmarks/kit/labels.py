"""Labels: the references of tasks where each is that of many, and what the commonest one scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from skillopt_cli.benchmarks.kit.benchmark import TextBenchmark
from skillopt_cli.benchmarks.kit.typography import folded
from skillopt_cli.core.majority_baseline import MajorityBaseline
from skillopt_cli.core.task import Split, Task
from skillopt_cli.plugins import OWN_TASKS
from skillopt_cli.ports import Benchmark

MOST_LABELS = 20
LEAST_TASKS = 6
"""Tasks from which on references that repeat count as labels."""

ScoreOf = Callable[[Task, str], Awaitable[float]]
"""The score of an answer to a task, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Referenced:
    """A task with its references, and its prompt as a target reads it."""

    task: Task
    split: Split
    expected: tuple[str, ...]
    prompt: str = ""

    @property
    def label(self) -> str:
        """Its only reference, without case and the marks around it; "" for several or none."""
        return folded(self.expected[0]) if len(self.expected) == 1 else ""


def own_references(
    benchmark: Benchmark, splits: Mapping[Split, Sequence[Task]]
) -> list[Referenced]:
    """Own tasks with their references, without prompts; nothing of any other benchmark."""
    if benchmark.name != OWN_TASKS or not isinstance(benchmark, TextBenchmark):
        return []
    return [
        Referenced(task, split, benchmark.expected(task))
        for split, part in splits.items()
        for task in part
    ]


def labels_of(tasks: Sequence[Referenced], most: int = MOST_LABELS) -> Counter[str]:
    """How often each label occurs; nothing where references are no labels, or more than `most`."""
    labels = Counter(one.label for one in tasks)
    few = 2 <= len(labels) <= min(most, len(tasks) // 2)
    return labels if few and len(tasks) >= LEAST_TASKS and "" not in labels else Counter()


async def majority_baseline(
    tasks: Sequence[Referenced], measured: Sequence[Task], score: ScoreOf
) -> MajorityBaseline | None:
    """What the commonest answer of the train tasks scores as the answer to each measured task.

    Of several that are equally common, it is the one that scores highest.

    Args:
        tasks: all of the data; the commonest answer of all where none is a train task.
        measured: tasks to score it on.

    Returns:
        None where the references are no labels, or nothing is measured.
    """
    if not (measured and labels_of(tasks)):
        return None
    seen = [one for one in tasks if one.split == "train"] or tasks
    times = Counter(one.expected[0] for one in seen)
    most = max(times.values())
    baselines = []
    for answer in (answer for answer, n in times.items() if n == most):
        total = sum([await score(task, answer) for task in measured])
        baselines.append(MajorityBaseline(answer, total / len(measured), len(measured)))
    return max(baselines, key=lambda baseline: baseline.score)


def names_label(reply: str, labels: Iterable[str]) -> bool:
    """Whether a label occurs anywhere in a reply, as a word of its own.

    Args:
        labels: as `Referenced.label` writes them.
    """
    text = folded(reply)
    # Scripts without spaces have letters on both sides of a word, so only Latin ones count.
    return any(re.search(rf"(?<![a-z0-9]){re.escape(one)}(?![a-z0-9])", text) for one in labels)
