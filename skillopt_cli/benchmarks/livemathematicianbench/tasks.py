"""Tasks of LiveMathematicianBench, from monthly files as published or from prepared ones."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from skillopt_cli.benchmarks.kit.choice_records import Choices, label_of, read_choices
from skillopt_cli.benchmarks.kit.choices import choices_fault
from skillopt_cli.benchmarks.kit.records import LeftOut, Record, text_of
from skillopt_cli.core.task import Task

T = TypeVar("T")

FILES = "qa_*_final.json"
_MONTH = re.compile(r"qa_(.+)_final")
_KIND = "math_mcq"


def read_task(record: Record) -> Task:
    """A record as a task, whose data are the prepared form of the record.

    The record's object `mcq` may hold question and options. Its theorem and sketch, what the
    question was made from, may be empty; there is one type of theorem at least.

    Raises:
        LeftOut: it has no question, no distinct options, or no right one.
    """
    data = record.data
    mcq = data.get("mcq")
    asked: Mapping[str, Any] = mcq if isinstance(mcq, Mapping) else data
    question = asked.get("question")
    if not isinstance(question, str) or not question.strip():
        raise LeftOut("without a question")
    choices, right = _options(asked)
    pairs = zip(choices.labels, choices.texts, strict=True)
    options = [{"label": label, "text": text} for label, text in pairs]
    types = _types(data.get("theorem_type"))
    prepared = {
        **_about(record),
        "theorem": text_of(data.get("theorem")),
        "sketch": text_of(data.get("sketch")),
        "theorem_type": list(types),
        "question": question.strip(),
        "choices": options,
        "correct_choice": options[right],
    }
    return Task(_identifier(record), sys.intern(types[0]), prepared)


def for_target(task: Task, seed: int | None, extras: Collection[str] = ()) -> Task:
    """The task as it is put to a target.

    Args:
        task: from `read_task`.
        seed: of the options' order; None keeps that of the data.
        extras: which of "theorem" and "sketch" a target may read, where the task has them.
    """
    data = task.data
    options: list[Mapping[str, str]] = data["choices"]
    order = options if seed is None else shuffled(options, seed, task.id)
    shown = {
        "question": data["question"],
        "choices": [option["text"] for option in order],
        "right": order.index(data["correct_choice"]),
        **{key: data[key] for key in ("theorem", "sketch") if key in extras and data[key]},
    }
    return replace(task, data=shown)


def shuffled(options: Sequence[T], seed: int, item: str) -> list[T]:
    """The options in the order that the published code gives an item of this id under a seed.

    There the seed is that of a batch, so that one item has other labels in training than when two
    skills are compared on it; here it is one for the whole run.
    """
    digest = hashlib.sha256(f"{seed}:{item}".encode(errors="surrogatepass")).hexdigest()
    order = list(options)
    Random(int(digest[:16], 16)).shuffle(order)
    return order


def _options(asked: Mapping[str, Any]) -> tuple[Choices, int]:
    choices = read_choices(asked.get("choices"))
    if choices is None or not choices.texts:
        raise LeftOut("without options")
    correct = asked.get("correct_choice")
    right = choices.place(correct)
    if right is None and isinstance(correct, Mapping):
        label, text = correct.get("label"), correct.get("text", correct.get("content"))
        if isinstance(label, str) and label.strip() and isinstance(text, str) and text.strip():
            # Published items may list the wrong options only.
            choices = choices.with_option(label_of(label), text.strip())
            right = len(choices.texts) - 1
    if right is None:
        raise LeftOut("without a right option")
    if choices_fault(choices.texts):
        raise LeftOut("whose options cannot be told apart")
    return choices, right


def _identifier(record: Record) -> str:
    if record.data.get("id") is not None:
        return record.identifier()
    about = _about(record)
    month, number = about.get("month"), about["no"]
    return f"{month}:{number}" if month else str(number)


def _about(record: Record) -> dict[str, Any]:
    """Where an item comes from: month and number, which make up its id, and its paper."""
    data = record.data
    named = _MONTH.fullmatch(record.path.stem)
    month = text_of(data.get("month")) or (named[1] if named else "")
    number = data.get("no")
    known = isinstance(number, int | str) and not isinstance(number, bool) and str(number).strip()
    about = {"month": month, "no": number if known else record.number}
    link = text_of(data.get("paper_link"))
    return {**about, "paper_link": link} if link else about


def _types(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    found = tuple(v.strip() for v in values if isinstance(v, str) and v.strip())
    return found or (_KIND,)
