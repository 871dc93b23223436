"""Items of BabyVision, under any of the names that its fields go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from skillopt_cli.benchmarks.babyvision.numbering import Numbering
from skillopt_cli.benchmarks.choice import LETTERS, choices_fault
from skillopt_cli.benchmarks.choice_records import label_of, read_choices
from skillopt_cli.benchmarks.picture_items import PictureItem
from skillopt_cli.benchmarks.records import LeftOut, Record

BLANKS = " | "
"""What stands between the answers of a question with several blanks."""
_KIND = "visual"


@dataclass(frozen=True, slots=True)
class Item(PictureItem):
    """One question about a picture.

    Its answer is a label where options are only in the picture, else what fills the blanks.

    Attributes:
        number: what stands for the right option, until it is known from where the data set counts.
    """

    number: int | None = None

    def counted(self, base: int) -> Item:
        """The item, with its number read as one that counts from `base`."""
        if self.number is None:
            return self
        place = self.number - base
        if self.choices:
            return replace(self, right=place, number=None)
        return replace(self, answer=LETTERS[place], number=None)


def read_item(record: Record, numbering: Numbering) -> Item:
    """The item of a record.

    Raises:
        LeftOut: it has no picture, no question or no usable answer.
    """
    data = record.data
    image, question = data.get("image"), _first(data, "question", "query")
    if not image:
        raise LeftOut("without a picture")
    if not isinstance(question, str) or not question.strip():
        raise LeftOut("without a question")
    kind = next((k for k in (data.get("subtype"), data.get("type")) if _filled(k)), _KIND)
    item = Item(identifier(record), str(kind).strip(), question.strip(), image)
    kind_of_answer = str(data.get("ansType") or "").strip().lower()
    if not kind_of_answer:
        kind_of_answer = "blank" if data.get("choiceAns") is None else "choice"
    if kind_of_answer.startswith("choice"):
        return _choice(item, data, numbering)
    return replace(item, answer=_blanks(data.get("blankAns")))


def identifier(record: Record) -> str:
    """The id of a record: its `taskId`, else its `id`.

    Raises:
        DataError: there is none.
    """
    if record.data.get("taskId") is None:
        return record.identifier()
    return replace(record, data={"id": record.data["taskId"]}).identifier()


def _choice(item: Item, data: Mapping[str, Any], numbering: Numbering) -> Item:
    choices = read_choices(_first(data, "options", "choices"))
    if choices is None or (choices.texts and choices_fault(choices.texts)):
        raise LeftOut("whose options cannot be told apart")
    item = replace(item, choices=choices.texts)
    answer = data.get("choiceAns")
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    right = choices.place(answer)
    if right is not None:
        return replace(item, right=right)
    number = _number(answer)
    if number is not None:
        if not numbering.take(number, len(choices.texts) or len(LETTERS)):
            raise LeftOut("whose choiceAns is out of range")
        return replace(item, number=number)
    if isinstance(answer, Mapping):
        answer = answer.get("label")
    label = label_of(answer) if isinstance(answer, str) else ""
    if choices.texts or label not in LETTERS or not label:
        raise LeftOut("without a usable answer")
    return replace(item, answer=label)


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


def _filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
