"""Questions about one picture, with options or without: items of a data set, tasks, benchmarks."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillopt_cli.benchmarks.answers import given_up
from skillopt_cli.benchmarks.choice import expected
from skillopt_cli.benchmarks.judging import left_to_judge, verdict_score
from skillopt_cli.benchmarks.pictures import Album
from skillopt_cli.benchmarks.splits import Splits, SplitTasks, squeezed
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Message, Task


@dataclass(frozen=True, slots=True)
class PictureItem:
    """One question about a picture.

    Attributes:
        question: without its options; empty where it stands in the picture.
        image: the record's own value: a path, or what the hub holds.
        choices: texts of the options; empty where there are none, or all are in the picture.
        right: the place of the right option, where options are listed.
        answer: the reference of a question whose options are not listed, else what the data say.
    """

    id: str
    kind: str
    question: str
    image: Any
    choices: tuple[str, ...] = ()
    right: int | None = None
    answer: str = ""

    def task(self, image: Mapping[str, str]) -> Task:
        """The task.

        Args:
            image: what the album says of the picture.
        """
        data = {
            "question": self.question,
            "choices": list(self.choices),
            "right": self.right,
            "answer": self.answer,
            "image": image,
        }
        return Task(self.id, sys.intern(self.kind), data)


def content_of(task: Task) -> str:
    """What such a task asks, for finding leaks between splits: question, options and picture."""
    data = task.data
    return squeezed([data["question"], *data["choices"], data["image"]["digest"]])


class JudgedPictures(SplitTasks, ABC):
    """Such tasks as a benchmark that asks a judge of answers that are not clear; `ports.Judged`."""

    needs = frozenset({"images"})

    def __init__(self, splits: Splits, album: Album) -> None:
        super().__init__(splits)
        self._album = album

    @abstractmethod
    def answered(self, reply: str) -> str:
        """The answer in a reply; empty where there is none."""

    @abstractmethod
    def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
        """The score of an answer that is clear, else what to ask."""

    def hear_judge(self, task: Task, attempt: Attempt, reply: str) -> Score | None:
        """Right or wrong, as the judge says."""
        return verdict_score(reply, expected(task.data), self.answered(attempt.answer))

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """The score where no judge is needed; 0 for what only a judge could find right."""
        wanted = expected(task.data)
        if attempt.ending == "gave_up":
            return given_up(wanted)
        asked = self.ask_judge(task, attempt)
        return asked if isinstance(asked, Score) else left_to_judge(wanted)
