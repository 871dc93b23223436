"""Tasks that show nothing, or the wrong thing, of the skills measured on them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillopt_cli.core.leak_guard import passages, words
from skillopt_cli.core.repeats import Repeated

_COMMON = 20
"""Words in a row in more than one of so many tasks are text that tasks share, such as a form."""
_FEW = 3


@dataclass(frozen=True, slots=True)
class TaskText:
    """A task as it is read: its id, its split, and the text of its brief."""

    task: str
    split: str
    text: str


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage of a task in a skill."""

    arm: str
    task: str
    split: str
    passage: str


@dataclass(frozen=True, slots=True)
class TaskLint:
    """What is noteworthy about the tasks of an evaluation.

    Attributes:
        passed, failed: tasks that every arm has full marks on in every draw, or in none; they do
            not tell the arms apart.
        flaky: arms whose draws of a task differ, by task.
    """

    passed: tuple[str, ...]
    failed: tuple[str, ...]
    flaky: Mapping[str, tuple[str, ...]]
    quoted: tuple[Quote, ...]


def lint_tasks(arms: Mapping[str, Repeated], texts: Sequence[TaskText]) -> TaskLint:
    """Look for tasks that show nothing of the arms, and for tasks that leak.

    Args:
        texts: of the tasks of all splits.
    """
    draws: dict[str, list[float]] = {}
    flaky: dict[str, tuple[str, ...]] = {}
    for name, arm in arms.items():
        for task, marks in arm.draws.items():
            draws.setdefault(task, []).extend(m.hard for m in marks if m.hard is not None)
        for task in arm.flaky:
            flaky[task] = (*flaky.get(task, ()), name)
    return TaskLint(
        passed=tuple(t for t, hard in draws.items() if hard and min(hard) >= 1.0),
        failed=tuple(t for t, hard in draws.items() if hard and max(hard) < 1.0),
        flaky=flaky,
        quoted=tuple(
            quote
            for name, arm in arms.items()
            for quote in quotes(name, "\n".join(arm.skill.texts.values()), texts)
        ),
    )


def quotes(arm: str, skill: str, texts: Sequence[TaskText]) -> Iterator[Quote]:
    """The tasks that a skill has a passage of, each with the first such passage.

    A passage that many tasks share is no quotation, nor is one that runs over lines of a task.
    """
    written = set(passages(words(skill)))
    found = [
        [passage for line in text.text.splitlines() for passage in passages(words(line))]
        for text in texts
    ]
    for text, own, rare in zip(texts, found, _rare(list(map(set, found))), strict=True):
        passage = next((p for p in own if p in written and p in rare), None)
        if passage is not None:
            yield Quote(arm, text.task, text.split, passage)


def _rare(runs: Sequence[set[str]]) -> list[set[str]]:
    """The words in a row of each text without those that many texts share."""
    holders = Counter(run for own in runs for run in own)
    most = max(_FEW, len(runs) // _COMMON)
    return [{run for run in own if holders[run] <= most} for own in runs]
