"""The seam to benchmarks: tasks, and how attempts at them are briefed and scored."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from skillopt_cli.core.episode import Episode
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Message, Split, Task, TaskFile
from skillopt_cli.ports.executor import Executor


class Benchmark(Protocol):
    """Tasks, and how an attempt at one is briefed and scored.

    Attributes:
        name: as in the configuration and in `outputs/<name>/`.
        version: changes whenever a brief or a score could change for the same task.
        source: where the tasks came from, one line for the user.
        seed_skill: the shipped seed skill's text.
        needs: abilities a target must offer, such as "images"; of "tools|workspace" one will do.
    """

    name: str
    version: str
    source: str
    seed_skill: str
    needs: frozenset[str]

    def tasks(self, split: Split) -> Sequence[Task]:
        """The tasks of a split, in file order; ids are unique over all splits."""
        ...

    def brief(self, task: Task) -> Brief:
        """What a target may know of a task: never the reference."""
        ...

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """Score an attempt that is not broken. A wrong answer is a low score, never an error."""
        ...


@runtime_checkable
class Referenced(Benchmark, Protocol):
    """A benchmark that gives the references of a task without an attempt at it."""

    def expected(self, task: Task) -> tuple[str, ...]:
        """The references, as scores of the task report them; empty where there are none."""
        ...


@runtime_checkable
class Interactive(Benchmark, Protocol):
    """A benchmark whose attempts take more than one answer, or leave more than an answer behind."""

    def episode(self, task: Task, executor: Executor) -> AbstractAsyncContextManager[Episode]:
        """The surroundings of one attempt, closed when it has ended.

        Files and programs are its executor's; nothing is shared with another attempt.
        """
        ...

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The attempt that a perfect target would make: the reference, played for real.

        Its score shows that the task can be won: `skillopt data check`.
        """
        ...


@runtime_checkable
class Filed(Interactive, Protocol):
    """An interactive benchmark whose episodes read files, beside those of the brief.

    Where attempts are made on other machines, a copy of the benchmark is used there.
    """

    def files(self, task: Task) -> Sequence[TaskFile]:
        """The files that an episode of the task reads; `name` distinguishes them."""
        ...

    def read_at(self, files: Sequence[TaskFile]) -> None:
        """From now on, read these files at their `path`."""
        ...


@runtime_checkable
class Judged(Benchmark, Protocol):
    """A benchmark some of whose scores are a model's judgement. `score` is not asked.

    Both functions are pure: the calls to the judge are the run's.
    """

    def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
        """What to ask the judge of an attempt that is not broken; a score where that is clear."""
        ...

    def hear_judge(self, task: Task, attempt: Attempt, reply: str) -> Score | None:
        """The score that a judge's reply means; None when it is unclear."""
        ...
