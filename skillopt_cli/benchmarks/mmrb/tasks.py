"""Tasks of MMRB, as the files `*_human.json` of its release have them."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from skillopt_cli.benchmarks.kit.choice_records import label_of, read_choices
from skillopt_cli.benchmarks.kit.choices import LETTERS, choices_fault
from skillopt_cli.benchmarks.kit.records import LeftOut, Record, scalar_text, text_of
from skillopt_cli.core.task import Task

_NUMBERED = re.compile(r"\{\s*image\s*#\s*(\d+)\s*\}", re.IGNORECASE)
_PLAIN = re.compile(r"<image>", re.IGNORECASE)
_PLACED = re.compile(r"\[image (\d+)\]")
_CHOICE = "multi-choice"
_KIND = "multi-image"


def read_task(record: Record) -> Task:
    """A record as a task; its `images` are the paths that the record has, the first `[image 1]`.

    Its `question` has marks `[image n]` where pictures belong, and no listed options. Its `choices`
    are empty for an open answer, or where the question has them; its `right` is the place of the
    right one, where they are listed; its `answer` is an option's letter, listed or not, when it is
    `lettered`, else an open answer.

    Raises:
        LeftOut: it has no pictures or no usable answer, mentions a picture that it does not have,
            or two of its options are the same.
        DataError: it has no id or no question.
    """
    data = record.data
    images = data.get("image_paths")
    if not isinstance(images, list) or not images or not all(map(text_of, images)):
        raise LeftOut("without pictures")
    answer = scalar_text(data.get("answer"))
    if not answer:
        raise LeftOut("without a usable answer")
    kind = text_of(data.get("subtask")) or _KIND
    question = record.text("question").strip()
    content: dict[str, Any] = {
        "question": question,
        "choices": (),
        "right": None,
        "answer": answer,
        "lettered": False,
        "images": images,
    }
    key = identifier(record)
    options = data.get("options")
    if options:
        content |= _with_choices(question, answer, options)
    elif data.get("question_type") == _CHOICE:
        content |= _lettered(answer)
    return Task(key, sys.intern(kind), content | _marked(content))


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


def _with_choices(question: str, answer: str, options: Any) -> dict[str, Any]:
    choices = read_choices(options)
    if choices is None or choices_fault(choices.texts):
        raise LeftOut("whose options cannot be told apart")
    right = choices.place(answer)
    if right is None:
        raise LeftOut("without a usable answer")
    return {
        "question": _without(question, options),
        "choices": choices.texts,
        "right": right,
        "answer": LETTERS[right],
        "lettered": True,
    }


def _lettered(answer: str) -> dict[str, Any]:
    """The answer of a question whose options are in its text or in a picture."""
    label = label_of(answer)
    if len(label) != 1 or label not in LETTERS:
        return {}
    return {"answer": label, "lettered": True}


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


def _marked(content: Mapping[str, Any]) -> dict[str, Any]:
    """Question and options with marks `[image n]` for those of the release."""
    question, *choices = texts = with_marks((content["question"], *content["choices"]))
    if max(marked_images(texts), default=0) > len(content["images"]):
        raise LeftOut("with a mark of a picture it does not have")
    return {"question": question, "choices": choices}


def with_marks(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts with `{image#n}`, or `<image>` for one picture after the other, marked `[image n]`."""
    if any(map(_NUMBERED.search, texts)):
        return tuple(_NUMBERED.sub(lambda m: f"[image {int(m[1])}]", text) for text in texts)
    number = count(1)
    return tuple(_PLAIN.sub(lambda _: f"[image {next(number)}]", text) for text in texts)


def marked_images(texts: Sequence[str]) -> tuple[int, ...]:
    """The pictures with a mark in the texts, from 1, in reading order."""
    return tuple(dict.fromkeys(int(n) for text in texts for n in _PLACED.findall(text)))
