"""Questions about one picture, with options or without, as items of a data set and as tasks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillopt_cli.benchmarks.splits import squeezed
from skillopt_cli.core.task import Task


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
