"""Tasks of BabyVision, under any of the names that its fields go by."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from skillopt_cli.benchmarks.kit.choice_records import label_of, read_choices
from skillopt_cli.benchmarks.kit.choices import LETTERS, choices_fault
from skillopt_cli.benchmarks.kit.records import LeftOut, Record, text_of
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Task

BLANKS = " | "
"""Separator of the answers of a question with several blanks."""
_KIND = "visual"

Base = Literal["auto", "0", "1"]
"""What whole numbers call the first option."""


@dataclass(slots=True)
class Numbering:
    """Counts over the numbers of a data set, from which their base follows.

    The published code reads each number by itself: from 0 where that gives an option, else from 1.
    Two items may then be read in two ways; here one base holds for all.

    Attributes:
        wanted: the base, where it is not to be found out.
        numbers: how many there are.
        zeros: how many of them are 0, which only a count from 0 has.
        lasts: how many equal the number of options, which only a count from 1 has.
    """

    wanted: Base = "auto"
    numbers: int = 0
    zeros: int = 0
    lasts: int = 0

    def take(self, number: int, options: int) -> bool:
        """Count a number; False when it cannot name any of so many options."""
        low, high = {"auto": (0, options), "0": (0, options - 1), "1": (1, options)}[self.wanted]
        if not low <= number <= high:
            return False
        self.numbers += 1
        self.zeros += number == 0
        self.lasts += number == options
        return True

    @property
    def base(self) -> int:
        """What the first option is called.

        Raises:
            DataError: some numbers only fit a count from 0, others only one from 1.
        """
        if self.wanted != "auto":
            return int(self.wanted)
        if self.zeros and self.lasts:
            raise DataError(
                f"`choiceAns` counts from 0 in {self.zeros} records and from 1 in {self.lasts}",
                "correct the data, or set env.choice_base to 0 or 1 to keep one kind",
            )
        return 1 if self.lasts else 0

    @property
    def note(self) -> str:
        """How the numbers are read, for the user; empty when there are none."""
        if not self.numbers:
            return ""
        words = f"whole numbers in choiceAns count from {self.base}"
        if self.wanted == "auto" and not (self.zeros or self.lasts):
            words += " (nothing in the data tells; see env.choice_base)"
        return words


def read_task(record: Record, numbering: Numbering) -> Task:
    """A record as a task; its `image` is the record's own value, a path or what the hub holds.

    Its `choices` are empty where there are no options, or all are in the picture; its `right` is
    the place of the right one, where they are listed, and its `answer` a label where options are
    only in the picture, else what fills the blanks. Its `number` is that of the right option, until
    it is known from where the data set counts; see `counted`.

    Raises:
        LeftOut: it has no picture, no question or no usable answer.
    """
    data = record.data
    image, question = data.get("image"), text_of(_first(data, "question", "query"))
    if not image:
        raise LeftOut("without a picture")
    if not question:
        raise LeftOut("without a question")
    kind = text_of(data.get("subtype")) or text_of(data.get("type")) or _KIND
    content = {"question": question, "choices": [], "right": None, "answer": "", "image": image}
    key = identifier(record)
    kind_of_answer = str(data.get("ansType") or "").strip().lower()
    if not kind_of_answer:
        kind_of_answer = "blank" if data.get("choiceAns") is None else "choice"
    if kind_of_answer.startswith("choice"):
        content |= _choice(data, numbering)
    else:
        content["answer"] = _blanks(data.get("blankAns"))
    return Task(key, sys.intern(kind), content)


def counted(task: Task, base: int) -> Task:
    """The task, with its number read as one that counts from `base`."""
    data = dict(task.data)
    number = data.pop("number", None)
    if number is None:
        return task
    if data["choices"]:
        data["right"] = number - base
    else:
        data["answer"] = LETTERS[number - base]
    return replace(task, data=data)


def identifier(record: Record) -> str:
    """The id of a record: its `taskId`, else its `id`.

    Raises:
        DataError: there is none.
    """
    return record.identifier("taskId", "id")


def _choice(data: Mapping[str, Any], numbering: Numbering) -> dict[str, Any]:
    choices = read_choices(_first(data, "options", "choices"))
    if choices is None or (choices.texts and choices_fault(choices.texts)):
        raise LeftOut("whose options cannot be told apart")
    listed = {"choices": list(choices.texts)}
    answer = data.get("choiceAns")
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    right = choices.place(answer)
    if right is not None:
        return {**listed, "right": right}
    number = _number(answer)
    if number is not None:
        if not numbering.take(number, len(choices.texts) or len(LETTERS)):
            raise LeftOut("whose choiceAns is out of range")
        return {**listed, "number": number}
    if isinstance(answer, Mapping):
        answer = answer.get("label")
    label = label_of(answer) if isinstance(answer, str) else ""
    if choices.texts or label not in LETTERS or not label:
        raise LeftOut("without a usable answer")
    return {**listed, "answer": label}


def _number(value: Any) -> int | None:
    """A whole number, however it is written."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if isinstance(value, int) else None


def _blanks(value: Any) -> str:
    parts = [str(part).strip() for part in (value if isinstance(value, list) else [value])]
    if value is None or isinstance(value, Mapping) or not parts or not all(parts):
        raise LeftOut("without a usable answer")
    return BLANKS.join(parts)


def _first(data: Mapping[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)
