"""Labels: the references of tasks where each is that of many, and what the commonest one scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from skillopt_cli.benchmarks.kit.answers import extract_answer, tagged_or_all
from skillopt_cli.benchmarks.kit.benchmark import TextBenchmark
from skillopt_cli.benchmarks.kit.typography import folded, plain_line
from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.score import Mark
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
    """A task with its references, and its prompt as a target reads it.

    Attributes:
        normalised: the form in which its scorer compares an answer with a reference.
    """

    task: Task
    split: Split
    expected: tuple[str, ...]
    prompt: str = ""
    normalised: Callable[[str], str] = plain_line

    @property
    def label(self) -> str:
        """Its only reference, without case and the marks around it; "" for several or none."""
        return folded(self.expected[0]) if len(self.expected) == 1 else ""

    @property
    def compared(self) -> str:
        """Its first reference as its scorer compares it; "" for none."""
        return self.normalised(self.expected[0]) if self.expected else ""


def own_references(
    benchmark: Benchmark, splits: Mapping[Split, Sequence[Task]]
) -> list[Referenced]:
    """Own tasks with their references, without prompts; nothing of any other benchmark."""
    if benchmark.name != OWN_TASKS or not isinstance(benchmark, TextBenchmark):
        return []
    return [
        Referenced(task, split, benchmark.expected(task), normalised=benchmark.normalised)
        for split, part in splits.items()
        for task in part
    ]


def labels_of(tasks: Sequence[Referenced], most: int = MOST_LABELS) -> Counter[str]:
    """How often each label occurs; nothing where references are no labels, or more than `most`."""
    labels = Counter(one.label for one in tasks)
    few = 2 <= len(labels) <= min(most, len(tasks) // 2)
    return labels if few and len(tasks) >= LEAST_TASKS and "" not in labels else Counter()


async def majority_baselines(
    tasks: Sequence[Referenced], measured: Sequence[Task], score: ScoreOf
) -> list[LabelDiagnostics]:
    """What the commonest answer of the train tasks scores as the answer to each measured task.

    Args:
        tasks: all of the data; the commonest answer of all where none is a train task.
        measured: tasks to score it on.

    Returns:
        One for each of the equally common answers, the highest score first; nothing where the
        references are no labels, or nothing is measured.
    """
    if not (measured and labels_of(tasks)):
        return []
    seen = [one for one in tasks if one.split == "train"] or tasks
    # Answers that the scorer holds equal are one, in the spelling that most tasks have.
    spellings: dict[str, Counter[str]] = {}
    for one in seen:
        spellings.setdefault(one.compared, Counter())[one.expected[0]] += 1
    most = max(spelt.total() for spelt in spellings.values())
    tied = [spelt for spelt in spellings.values() if spelt.total() == most]
    commonest = [spelt.most_common(1)[0][0] for spelt in tied]
    found = []
    for answer in commonest:
        mean = sum([await score(task, answer) for task in measured]) / len(measured)
        found.append(LabelDiagnostics(answer, mean, len(measured), equally_common=len(commonest)))
    return sorted(found, key=lambda baseline: baseline.score, reverse=True)


def never_right(
    tasks: Iterable[Referenced], marks: Mapping[str, Mark], repeats: int = 1
) -> dict[str, int]:
    """The labels of which no task is answered rightly, each with the number of its tasks.

    Args:
        marks: of a skill, by task; tasks without a score do not count.
        repeats: most attempts that a mark is the mean of; one of them that is right is enough.
    """
    scores: dict[str, list[float]] = {}
    spelt: dict[str, str] = {}
    for one in tasks:
        held = marks.get(one.task.id)
        if held is not None and held.hard is not None:
            scores.setdefault(one.label, []).append(held.hard)
            spelt.setdefault(one.label, one.expected[0])
    return {spelt[label]: len(of) for label, of in scores.items() if max(of) < 1 / repeats}


def given_label(reply: str, labels: Labels) -> str | None:
    """The label that a reply gives as its answer; None where the answer is none of them."""
    answers = (tagged_or_all(reply), extract_answer(reply))
    return labels.label_of([*answers, *(one.strip(" .!\"'`*") for one in answers)])
