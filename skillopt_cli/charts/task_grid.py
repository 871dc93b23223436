"""The outcome of each task at each step: the content of a heat map, as a table."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import attrgetter
from typing import Literal

from skillopt_cli.core.task import TaskSet
from skillopt_cli.runlog.outcomes import NO_OUTCOMES, Outcomes, State, state_of
from skillopt_cli.runlog.rounds import Round
from skillopt_cli.runlog.text.format import one_line
from skillopt_cli.runlog.view import RunView

CellState = State | Literal["unseen"]
Occasion = Literal["seed", "step", "epoch", "test"]

STATES: tuple[CellState, ...] = ("right", "failed", "broken", "unseen")
STATE_WORDS: Mapping[CellState, str] = {
    "right": "right",
    "failed": "failed",
    "broken": "broken, no score",
    "unseen": "not evaluated",
}
_DIGITS = re.compile(r"(\d+)")
_LETTERS: Mapping[State, int] = {"right": ord("r"), "failed": ord("f"), "broken": ord("b")}


@dataclass(frozen=True, slots=True)
class Column:
    """One text, on the tasks it was tried at.

    Attributes:
        title: short: 0 for the seed, a step's number, `e2` for the end of epoch 2.
        words: the same in full.
        step: 0 outside steps.
        action: how the step ended, in the words of `history.json`; empty where there is no saying.
        made: its attempts; None where nothing was evaluated.
    """

    title: str
    words: str
    occasion: Occasion
    step: int = 0
    action: str = ""
    made: Round | None = None

    @property
    def cells(self) -> dict[str, State]:
        """The outcome of each task that was evaluated."""
        made = self.outcomes
        states = [state_of(hard) for hard, _ in made.pairs]
        return dict(zip(made.tasks, map(states.__getitem__, made.codes), strict=True))

    @property
    def outcomes(self) -> Outcomes:
        """One outcome for each task that was evaluated."""
        return self.made.outcomes.averaged if self.made else NO_OUTCOMES

    def state(self, task: str) -> CellState:
        """The outcome of a task."""
        return self.cells.get(task, "unseen")


@dataclass(frozen=True, slots=True)
class Grid:
    """Tasks by columns.

    Attributes:
        what: which tasks.
        rows: the outcome of each task, column by column. Tasks are in the order people count in: t2
            before t10.
    """

    what: str
    columns: tuple[Column, ...] = ()
    rows: Mapping[str, tuple[CellState, ...]] = field(default_factory=dict)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, in order."""
        return tuple(self.rows)

    @property
    def counts(self) -> dict[CellState, int]:
        """Cells in each state."""
        found = Counter(chain.from_iterable(self.rows.values()))
        return {state: found[state] for state in STATES}

    def story(self, task: str) -> str:
        """A task's row in words: `right at 3, 4; failed at 0 to 2`."""
        spans: dict[CellState, list[str]] = {}
        for state, first, last in _spans(self.rows[task]):
            spans.setdefault(state, []).append(self._span(first, last))
        return "; ".join(f"{STATE_WORDS[s]} at {', '.join(spans[s])}" for s in STATES if s in spans)

    def _span(self, first: int, last: int) -> str:
        start, end = self.columns[first].title, self.columns[last].title
        if first == last:
            return start
        return f"{start} to {end}" if last > first + 1 else f"{start}, {end}"


def selection_columns(view: RunView) -> list[Column]:
    """The seed, each step's candidate and each text with guidance, on the selection tasks.

    A step that ended without a measurement has a column all the same, where nothing was evaluated.
    """
    measured = _measured(view) if view.evaluated in (None, "selection") else []
    columns = [_first_column(r, "the seed skill") for r in measured if not r.step]
    of_step: dict[int, list[Round]] = {}
    for made in measured:
        of_step.setdefault(made.step, []).append(made)
    for step in view.steps:
        rounds = of_step.get(step.number, [])
        own = [made for made in rounds if not made.closing]
        words = f"the candidate of step {step.number}"
        column = _column(
            own[-1] if own else None, str(step.number), words, "step", step.action or ""
        )
        columns.append(column)
        columns += _closing(view, [made for made in rounds if made.closing])
    return columns


def train_columns(view: RunView) -> list[Column]:
    """Each step's batch of train tasks under the skill then in force; or the one evaluated."""
    if view.evaluated == "train":
        return [_first_column(r, "the skill") for r in _measured(view)]
    tried = {r.step: r for r in view.rounds if r.stage == "rollout"}
    return [
        _column(tried.get(step.number), str(step.number), f"the batch of step {step.number}")
        for step in view.steps
    ]


def all_columns(view: RunView) -> list[Column]:
    """Each text that an evaluation measured on all tasks."""
    measured = _measured(view) if view.evaluated == "all" else []
    return [_first_column(made, "the skill") for made in measured]


def test_columns(view: RunView) -> list[Column]:
    """Each text that was tested, on the test tasks."""
    tried = (r for r in view.rounds if r.stage == "test")
    names = [(r, one_line(r.label)) for r in tried]
    return [_column(r, name, f"the {name} skill", "test") for r, name in names]


COLUMNS: Mapping[TaskSet, Callable[[RunView], list[Column]]] = {
    "selection": selection_columns,
    "train": train_columns,
    "test": test_columns,
    "all": all_columns,
}


def task_grid(view: RunView, split: TaskSet) -> Grid:
    """All tasks of a split that were attempted, under all texts."""
    columns = COLUMNS[split](view)
    tasks = {task for column in columns for task in column.cells}
    return grid_of(split, columns, sorted(tasks, key=counted))


def grid_of(split: TaskSet, columns: Sequence[Column], tasks: Collection[str]) -> Grid:
    """Some tasks of a split under some texts."""
    cells = [column.cells for column in columns]
    rows: dict[str, tuple[CellState, ...]] = {
        task: tuple(cell.get(task, "unseen") for cell in cells) for task in tasks
    }
    return Grid(f"{split} tasks", tuple(columns), rows)


def task_courses(columns: Sequence[Column]) -> dict[str, bytes]:
    """The results of each task, a letter for each text it was evaluated under: r, f or b.

    A byte for an attempt, since a run may have a million of them. Tasks are in the order people
    count in.
    """
    courses: defaultdict[str, bytearray] = defaultdict(bytearray)
    # Texts that were evaluated on the same tasks in turn have their letters transposed at once.
    for tasks, alike in groupby((column.outcomes for column in columns), attrgetter("tasks")):
        letters = b"".join(map(_letters, alike))
        for place, task in enumerate(tasks):
            courses[task] += letters[place :: len(tasks)]
    return {task: bytes(courses[task]) for task in sorted(courses, key=counted)}


def _letters(made: Outcomes) -> bytes:
    """The letter of each outcome."""
    return made.coded([_LETTERS[state_of(hard)] for hard, _ in made.pairs])


def _measured(view: RunView) -> list[Round]:
    return [r for r in view.rounds if r.stage == "measure"]


def _first_column(measured: Round, words: str) -> Column:
    """What no step made: the only text, or one of several that an evaluation compares by name."""
    if not measured.label:
        return _column(measured, "0", words, "seed")
    name = one_line(measured.label)
    return _column(measured, name, f"the {name} skill", "seed")


def _closing(view: RunView, rounds: list[Round]) -> Iterator[Column]:
    """An epoch's end measures the current text with guidance and, if that is another, the best."""
    for i, measured in enumerate(rounds):
        epoch = next((e for e in view.epochs if e.step == measured.step), None)
        plan = next((s.plan for s in view.steps if s.number == measured.step), None)
        number = epoch.number if epoch else plan.epoch if plan else 0
        action = epoch.slow.outcome if epoch and epoch.slow else ""
        which = "the best text" if i else "the text"
        title = f"e{number}{'b' * i}"
        words = f"{which} with the guidance of epoch {number}"
        yield _column(measured, title, words, "epoch", action)


def _column(
    measured: Round | None, title: str, words: str, occasion: Occasion = "step", action: str = ""
) -> Column:
    return Column(title, words, occasion, measured.step if measured else 0, action, measured)


def counted(task: str) -> tuple[list[tuple[int, str]], str]:
    """A key that sorts numbers within an id by their size."""
    parts = _DIGITS.split(task)
    return [(int(p) if i % 2 else 0, "" if i % 2 else p) for i, p in enumerate(parts)], task


def _spans(states: Sequence[CellState]) -> Iterator[tuple[CellState, int, int]]:
    """Each unbroken row of one state, with its first and its last place."""
    at = 0
    for state, run in groupby(states):
        n = len(list(run))
        yield state, at, at + n - 1
        at += n
