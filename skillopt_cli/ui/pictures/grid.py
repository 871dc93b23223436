"""What each task came to at each step: the content of a heat map, as a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Literal

from skillopt_cli.ui.rounds import Round, State
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.words import one_line

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


@dataclass(frozen=True, slots=True)
class Column:
    """One text, on the tasks it was tried at.

    Attributes:
        title: short: 0 for the seed, a step's number, `e2` for the end of epoch 2.
        words: the same in full.
        step: 0 outside steps.
        action: how the step ended, in the words of `history.json`; empty where there is no saying.
        cells: what each task came to; one that is not in it was not evaluated.
    """

    title: str
    words: str
    occasion: Occasion
    step: int = 0
    action: str = ""
    cells: Mapping[str, State] = field(default_factory=dict)

    def state(self, task: str) -> CellState:
        """What a task came to."""
        return self.cells.get(task, "unseen")


@dataclass(frozen=True, slots=True)
class Grid:
    """Tasks by columns.

    Attributes:
        what: which tasks.
        rows: what each task came to, column by column. Tasks are in the order people count in: t2
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
        told: dict[CellState, list[str]] = {}
        for state, first, last in _spans(self.rows[task]):
            told.setdefault(state, []).append(self._span(first, last))
        return "; ".join(f"{STATE_WORDS[s]} at {', '.join(told[s])}" for s in STATES if s in told)

    def _span(self, first: int, last: int) -> str:
        start, end = self.columns[first].title, self.columns[last].title
        if first == last:
            return start
        return f"{start} to {end}" if last > first + 1 else f"{start}, {end}"


def selection_grid(view: RunView) -> Grid:
    """The selection tasks: under the seed, each step's candidate and each text with guidance.

    A step that ended without a measurement has a column all the same, where nothing was evaluated.
    """
    measured = [] if _of_train(view) else _measured(view)
    columns = [_column(r, "0", "the seed skill", "seed") for r in measured if not r.step]
    for step in view.steps:
        own = [r for r in measured if r.step == step.number and not r.closing]
        words = f"the candidate of step {step.number}"
        column = _column(
            own[-1] if own else None, str(step.number), words, "step", step.action or ""
        )
        columns.append(column)
        columns += _closing(view, [r for r in measured if r.step == step.number and r.closing])
    return _grid("selection tasks", columns)


def train_grid(view: RunView) -> Grid:
    """The train tasks: each step's batch under the skill then in force; or the one evaluated."""
    if _of_train(view):
        return _grid("train tasks", [_column(r, "0", "the skill", "seed") for r in _measured(view)])
    tried = {r.step: r for r in view.rounds if r.stage == "rollout"}
    columns = [
        _column(tried.get(step.number), str(step.number), f"the batch of step {step.number}")
        for step in view.steps
    ]
    return _grid("train tasks", columns)


def test_grid(view: RunView) -> Grid:
    """The test tasks under each text that was tested."""
    tried = (r for r in view.rounds if r.stage == "test")
    names = [(r, one_line(r.label)) for r in tried]
    columns = [_column(r, name, f"the {name} skill", "test") for r, name in names]
    return _grid("test tasks", columns)


def _measured(view: RunView) -> list[Round]:
    return [r for r in view.rounds if r.stage == "measure"]


def _of_train(view: RunView) -> bool:
    """Whether it is an evaluation of the train tasks."""
    return not view.total_steps and "train" in view.tests


def _closing(view: RunView, rounds: list[Round]) -> Iterator[Column]:
    """An epoch's end measures the current text with guidance and, if that is another, the best."""
    for i, measured in enumerate(rounds):
        epoch = next((e for e in view.epochs if e.step == measured.step), None)
        plan = next((s.plan for s in view.steps if s.number == measured.step), None)
        number = epoch.number if epoch else plan.epoch if plan else 0
        action = epoch.slow.action if epoch and epoch.slow else ""
        which = "the best text" if i else "the text"
        title = f"e{number}{'b' * i}"
        words = f"{which} with the guidance of epoch {number}"
        yield _column(measured, title, words, "epoch", action)


def _column(
    measured: Round | None, title: str, words: str, occasion: Occasion = "step", action: str = ""
) -> Column:
    cells = {outcome.task: outcome.state for outcome in measured.outcomes} if measured else {}
    return Column(title, words, occasion, measured.step if measured else 0, action, cells)


def _grid(what: str, columns: list[Column]) -> Grid:
    tasks = {task for column in columns for task in column.cells}
    rows = {t: tuple(column.state(t) for column in columns) for t in sorted(tasks, key=_counted)}
    return Grid(what, tuple(columns), rows)


def _counted(task: str) -> tuple[list[tuple[int, str]], str]:
    """Sorts numbers within an id by their size."""
    parts = _DIGITS.split(task)
    return [(int(p) if i % 2 else 0, "" if i % 2 else p) for i, p in enumerate(parts)], task


def _spans(states: Sequence[CellState]) -> Iterator[tuple[CellState, int, int]]:
    """Each unbroken row of one state, with its first and its last place."""
    at = 0
    for state, run in groupby(states):
        n = len(list(run))
        yield state, at, at + n - 1
        at += n
