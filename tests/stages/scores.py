"""Targets whose scores and completion order a test decides, and a benchmark that reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from skillopt_cli.core.score import Mark, Score
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, Section, Split, Task
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.ports import Executor
from skillopt_cli.stages import Run
from skillopt_cli.store.memory import MemoryStore
from skillopt_cli.testing import EventLog, Toy, toy_run

Outcome = Callable[[SkillDocument, str], Attempt]


class Table:
    """A benchmark of tasks t0, t1, ...: an answer "0.5 0.75" is its own hard and soft score."""

    name, version, source, seed_skill = "table", "1", "a table", "seed\n"
    needs: frozenset[str] = frozenset()

    def __init__(self, **sizes: int) -> None:
        self._tasks = {
            split: tuple(Task(f"{name}{i}", "k", {"n": i}) for i in range(sizes.get(split, 1)))
            for split, name in (("train", "t"), ("selection", "s"), ("test", "e"))
        }

    def tasks(self, split: Split) -> Sequence[Task]:
        return self._tasks[split]

    def brief(self, task: Task) -> Brief:
        return Brief(task.id, "role", (Section("Question", task.id),))

    async def score(self, task: Task, attempt: Attempt) -> Score:
        hard, soft = attempt.answer.split()
        return Score(float(hard), float(soft))


def answer(mark: Mark) -> Attempt:
    """The attempt that is scored as `mark` says."""
    if mark.broken:
        return Attempt("", ending="broken", error="down")
    return Attempt(f"{mark.hard!r} {mark.soft!r}")


class Target:
    """An agent that ends attempts in an order of the test's choosing.

    Attempts in flight wait; whenever nothing else moves, `order` picks which one ends.
    """

    name = fingerprint = "target"
    offers: frozenset[str] = frozenset()

    def __init__(self, outcome: Outcome, order: Random | None = None) -> None:
        self._outcome, self._order = outcome, order
        self._waiting: dict[str, asyncio.Event] = {}
        self._releasing = False
        self.asked: list[str] = []
        self.most = 0

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        self.asked.append(brief.task_id)
        mine = self._waiting[brief.task_id] = asyncio.Event()
        self.most = max(self.most, len(self._waiting))
        self._soon()
        await mine.wait()
        return self._outcome(skill, brief.task_id)

    def _soon(self) -> None:
        """Let one attempt end once every task that can start has started."""
        if not self._releasing:
            self._releasing = True
            asyncio.get_running_loop().call_soon(self._settle, 3)

    def _settle(self, turns: int) -> None:
        if turns:
            asyncio.get_running_loop().call_soon(self._settle, turns - 1)
            return
        self._releasing = False
        if self._waiting:
            waiting = sorted(self._waiting)
            chosen = self._order.choice(waiting) if self._order else next(iter(self._waiting))
            self._waiting.pop(chosen).set()
            if self._waiting:
                self._soon()


def table_run(
    target: Target, settings: Sequence[str] = (), **sizes: int
) -> tuple[Run, MemoryStore, EventLog]:
    """A run of the table benchmark on this target."""
    store, log = MemoryStore(), EventLog()
    toy = Toy(tuple(settings), benchmark=Table(**sizes))
    run = toy_run(toy, store, [Subscriber("log", log)])
    return replace(run, target=target), store, log


def by_skill(tables: Mapping[str, Mapping[str, Mark]]) -> Outcome:
    """Outcomes looked up by the skill's text, then the task."""
    return lambda skill, task: answer(tables[skill.text][task])
