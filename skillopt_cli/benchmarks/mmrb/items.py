"""Items of MMRB, as the files `*_human.json` of its release have them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillopt_cli.benchmarks.choice import LETTERS, choices_fault
from skillopt_cli.benchmarks.choice_records import label_of, read_choices
from skillopt_cli.benchmarks.mmrb.marks import Marks
from skillopt_cli.benchmarks.records import LeftOut, Record

_CHOICE = "multi-choice"
_KIND = "multi-image"


@dataclass(frozen=True, slots=True)
class Item:
    """One question about several pictures.

    Attributes:
        kind: the subtask, such as "Visual Ordering".
        question: with marks `[image n]` where pictures belong, and without its listed options.
        images: paths of the pictures, as the record has them; the first is `[image 1]`.
        choices: texts of the options; empty for an open answer, or where the question has them.
        right: the place of the right option, where they are listed.
        answer: the reference: an option's letter, or an open answer.
        lettered: whether the answer is the letter of an option, listed or not.
    """

    id: str
    kind: str
    question: str
    images: tuple[str, ...]
    answer: str
    choices: tuple[str, ...] = ()
    right: int | None = None
    lettered: bool = False


def read_item(record: Record) -> Item:
    """The item of a record.

    Raises:
        LeftOut: it has no pictures or no usable answer, speaks of a picture that it does not have,
            or its options cannot be told apart.
        DataError: it has no id or no question.
    """
    data = record.data
    images = data.get("image_paths")
    if not isinstance(images, list) or not images or not all(map(_filled, images)):
        raise LeftOut("without pictures")
    answer = data.get("answer")
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        raise LeftOut("without a usable answer")
    answer = str(answer).strip()
    if not answer:
        raise LeftOut("without a usable answer")
    kind = _filled(data.get("subtask")) or _KIND
    question = record.text("question").strip()
    item = Item(identifier(record), kind, question, tuple(images), answer)
    options = data.get("options")
    chosen = data.get("question_type") == _CHOICE or bool(options)
    item = _with_choices(item, options) if options else _lettered(item) if chosen else item
    return _marked(item)


def identifier(record: Record) -> str:
    """The id of a record: `source:subtask:index`, else its `id`.

    Raises:
        DataError: there is none.
    """
    parts = [record.data.get(key) for key in ("source", "subtask", "index")]
    if any(part is None or not str(part).strip() for part in parts):
        return record.identifier()
    joined = ":".join(str(part).strip() for part in parts)
    return replace(record, data={"id": joined}).identifier()


def _with_choices(item: Item, options: Any) -> Item:
    choices = read_choices(options)
    if choices is None or choices_fault(choices.texts):
        raise LeftOut("whose options cannot be told apart")
    right = choices.place(item.answer)
    if right is None:
        raise LeftOut("without a usable answer")
    question = _without(item.question, options)
    return replace(
        item,
        question=question,
        choices=choices.texts,
        right=right,
        answer=LETTERS[right],
        lettered=True,
    )


def _lettered(item: Item) -> Item:
    """A question whose options stand in its text or in a picture."""
    label = label_of(item.answer)
    if len(label) != 1 or label not in LETTERS:
        return item
    return replace(item, answer=label, lettered=True)


def _without(question: str, options: Any) -> str:
    """The question without the options at its end, where the release repeats them."""
    if not isinstance(options, Sequence) or isinstance(options, str):
        return question
    texts = [str(option) for option in options if not isinstance(option, Mapping)]
    listed = " ".join(" ".join(texts).split())
    if not listed:
        return question
    first = re.escape(texts[0].strip())
    for start in re.finditer(first, question):
        if " ".join(question[start.start() :].split()) == listed:
            return question[: start.start()].rstrip() or question
    return question


def _marked(item: Item) -> Item:
    """The item with marks `[image n]` for those of the release."""
    marks = Marks.of((item.question, *item.choices))
    if marks.highest > len(item.images):
        raise LeftOut("with a mark of a picture it does not have")
    question, *choices = marks.texts
    return replace(item, question=question, choices=tuple(choices))


def _filled(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
