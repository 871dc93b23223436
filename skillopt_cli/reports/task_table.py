"""Tasks of a split in a table: question, reference, the answers of seed and best skill, changes.

Scores and states are those of the log. Texts are read from the `results.jsonl` of the stage, which
is written when the stage ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skillopt_cli.charts.task_grid import COLUMNS, Column, task_courses
from skillopt_cli.core.events import TestMeasured
from skillopt_cli.core.task import TaskSet
from skillopt_cli.reports.task_answers import TaskAnswer, Tried
from skillopt_cli.reports.task_texts import NO_TEXTS, TaskTexts
from skillopt_cli.runlog.attempt_folders import attempt_folder
from skillopt_cli.runlog.best_scores import measured_rounds
from skillopt_cli.runlog.outcomes import State
from skillopt_cli.runlog.rounds import Round
from skillopt_cli.runlog.text.format import one_line
from skillopt_cli.runlog.view import RunView

TaskResult = Literal["fixed", "broke", "always right", "always wrong", "flaky"]

RESULTS: Mapping[TaskResult, str] = {
    "fixed": "wrong first, right last",
    "broke": "right first, wrong last",
    "always right": "right with every skill that was measured; trials of edits do not count",
    "always wrong": "wrong with every skill that was measured; trials of edits do not count",
    "flaky": "right with some skills, wrong with others, and neither fixed nor broke",
}
"""How a task went over all skills, with the meaning of each word."""
_CHANGED: Mapping[tuple[State | None, ...], TaskResult] = {
    ("failed", "right"): "fixed",
    ("right", "failed"): "broke",
}
CONFIRMATION = "_confirmation"
"""What labels of tests end with that are of the confirmation slice."""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task.

    Attributes:
        question: what the target was asked.
        course: its results under each text in turn, as `task_courses` has them.
        answers: by each text that is compared, in the order of `TaskTable.titles`; None where
            there was no attempt.
        confirming: whether it is of the slice that was set aside for the verdict.
    """

    task: str
    kind: str
    question: str
    expected: Sequence[str]
    course: bytes
    answers: tuple[TaskAnswer | None, ...]
    confirming: bool = False

    @property
    def first(self) -> TaskAnswer | None:
        """The answer that the last one is compared with."""
        return self.answers[0] if len(self.answers) > 1 else None

    @property
    def last(self) -> TaskAnswer | None:
        """The answer of the last text."""
        return self.answers[-1] if self.answers else None

    @property
    def result(self) -> TaskResult | None:
        """How the task went; right is a hard score of 1. None where nothing is known."""
        ends = tuple(one.outcome.state if one else None for one in (self.first, self.last))
        known = self._known
        if ends in _CHANGED or not known:
            return _CHANGED.get(ends)
        if b"f" not in known:
            return "always right"
        return "flaky" if b"r" in known else "always wrong"

    @property
    def flips(self) -> int:
        """How often the result changed from one text to the next."""
        return self._known.count(b"rf") + self._known.count(b"fr")

    @property
    def _known(self) -> bytes:
        return self.course.replace(b"b", b"")


@dataclass(frozen=True, slots=True)
class TaskTable:
    """The tasks of a split.

    Attributes:
        titles: of the answers that are compared, the first with the last.
        columns: the texts that tasks were evaluated under, in order.
    """

    split: TaskSet
    titles: tuple[str, ...]
    columns: Sequence[Column]
    rows: Sequence[TaskRow]

    @property
    def first(self) -> str:
        """Title of the first answers; empty where only one text was measured."""
        return self.titles[0] if len(self.titles) > 1 else ""

    @property
    def last(self) -> str:
        """Title of the last answers."""
        return self.titles[-1]


def first_split(view: RunView) -> TaskSet:
    """The split to show first: the one that an evaluation measured, else the selection."""
    return view.evaluated or "selection"


def task_table(view: RunView, split: TaskSet, texts: TaskTexts) -> TaskTable:
    """The tasks of a split that were attempted, in the order people count in.

    Args:
        texts: those of the run's attempts.
    """
    columns = COLUMNS[split](view)
    courses = task_courses(columns)
    compared = _compared(view, split)
    tried = [_tried(view, rounds, len(courses)) for rounds in compared.values()]
    known = texts.read(place for found in tried for one in found.values() for place in one.places)
    confirming = _confirming(view)
    rows = []
    for task, course in courses.items():
        own = [found.get(task) for found in tried]
        about = [known.get(place, NO_TEXTS) for one in own[::-1] if one for place in one.places]
        # The row of the latest attempt, else of any, that has the question.
        asked = next((row for row in about if row.question), about[0] if about else NO_TEXTS)
        answers = tuple(one.answer(known) if one else None for one in own)
        row = TaskRow(task, asked.kind, asked.question, asked.expected, course, answers)
        rows.append(replace(row, confirming=True) if task in confirming else row)
    return TaskTable(split, tuple(compared), columns, rows)


def _tried(view: RunView, rounds: Iterable[Round], n: int) -> dict[str, Tried]:
    """The attempts at each task in the first of these stages that attempted it.

    Args:
        n: how many tasks there are.
    """
    found: dict[str, Tried] = {}
    for made in rounds:
        outcomes = made.outcomes
        if new := set(outcomes.tasks) - found.keys():
            _, folder = attempt_folder(view, made)
            found |= {task: Tried(task, folder, outcomes.at(task)) for task in new}
        if len(found) == n:
            break
    return found


def _compared(view: RunView, split: TaskSet) -> Mapping[str, Sequence[Round]]:
    """The stages that hold the answers to compare, by title; the first one of them counts."""
    if not view.total_steps:
        return _evaluated(view)
    if split == "train":
        tried = [made for made in view.rounds if made.stage == "rollout"]
        return {"first try": tried, "latest try": tried[::-1]}
    if split == "test":
        return _tested(view)
    seed, best = measured_rounds(view)
    return {"seed": _known(seed), "best": _known(best)}


def _evaluated(view: RunView) -> Mapping[str, Sequence[Round]]:
    """One text, or several by name. Those that read the same were measured once."""
    measured = [made for made in view.rounds if made.stage in ("measure", "test")]
    named = {made.label: made for made in measured if made.label not in ("", "eval")}
    if not named:
        return {"answer": measured}
    suffix = "" if view.evaluated == "test" else f"_{view.evaluated}"
    tests = {label.removesuffix(suffix): test for label, test in view.tests.items()}
    found = {}
    for name in dict.fromkeys([*tests, *named]):
        alike = (n for n in named if n in tests and name in tests and _same(tests, n, name))
        made = named.get(name) or named.get(next(alike, ""))
        found[one_line(name)] = _known(made)
    return found


def _same(tests: Mapping[str, TestMeasured], left: str, right: str) -> bool:
    return tests[left].digest == tests[right].digest


def _tested(view: RunView) -> Mapping[str, Sequence[Round]]:
    """The tests of seed and best, and what was set aside to confirm them, which is no test task."""
    found: dict[str, list[Round]] = {"seed": [], "best": []}
    by_label = {made.label: made for made in view.rounds if made.stage == "test"}
    for name, rounds in found.items():
        # A best skill equal to the seed is not measured a second time.
        other = "seed" if name in view.tests else ""
        made = (by_label.get(name) or by_label.get(other), by_label.get(f"{name}{CONFIRMATION}"))
        rounds += [one for one in made if one]
    return found


def _confirming(view: RunView) -> frozenset[str]:
    """The tasks of the slice that was set aside for the verdict."""
    if not view.total_steps:
        return frozenset()
    rounds = [r for r in view.rounds if r.stage == "test" and r.label.endswith(CONFIRMATION)]
    return frozenset(task for made in rounds for task in made.outcomes.tasks)


def _known(made: Round | None) -> Sequence[Round]:
    return () if made is None else (made,)
