"""Tasks of MathVerse, as its test-mini files have them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from skillopt_cli.benchmarks.kit.choice_records import Choices, split_question
from skillopt_cli.benchmarks.kit.choices import choices_fault
from skillopt_cli.benchmarks.kit.records import LeftOut, Record, scalar_text, text_of
from skillopt_cli.core.task import Task

_FREE = "free-form"
_KIND = "mathematics"


def read_task(record: Record, version: str) -> Task:
    """A record as a task; its `image` is the record's own value, a path or what the hub holds.

    Its `choices` are empty where there are no options, or all are in the picture, as its `question`
    may be; its `right` is the place of the right one, where they are listed.

    Args:
        version: which of the versions of a problem to keep, such as "Text Lite"; empty keeps all.

    Raises:
        LeftOut: it is of another version, or has no picture or no usable answer.
    """
    data = record.data
    if version and data.get("problem_version", version) != version:
        raise LeftOut("of another version")
    image = data.get("image")
    image = image.get("path") if isinstance(image, Mapping) and not image.get("bytes") else image
    if not image:
        raise LeftOut("without a picture")
    answer = scalar_text(data.get("answer"))
    if not answer:
        raise LeftOut("without an answer")
    question, choices = _asked(data)
    free = str(data.get("question_type") or (_FREE if not choices.texts else "")).strip() == _FREE
    key = identifier(record, version)
    texts, right = ((), None) if free else _options(choices, answer)
    content = {
        "question": question,
        "choices": list(texts),
        "right": right,
        "answer": answer,
        "image": image,
    }
    return Task(key, sys.intern(_kind(data)), content)


def identifier(record: Record, version: str = "any") -> str:
    """The id of a record: `id`, else that of its problem, else that of this version of it.

    Args:
        version: empty where several versions of a problem are kept, whose ids must differ.

    Raises:
        DataError: there is none.
    """
    problem, sample = "problem_index", "sample_index"
    return record.identifier("id", *((problem, sample) if version else (sample, problem)))


def _asked(data: Mapping[str, Any]) -> tuple[str, Choices]:
    """Question and options; these are in the question for evaluation where the picture has them."""
    question, choices = split_question(text_of(data.get("question")))
    if not choices.texts:
        _, choices = split_question(text_of(data.get("question_for_eval")))
    return question, choices


def _options(choices: Choices, answer: str) -> tuple[tuple[str, ...], int]:
    """The texts of the options, and the place of the right one."""
    if not choices.texts:
        raise LeftOut("without options")
    right = choices.place(answer)
    if right is None:
        raise LeftOut("without an answer")
    if choices_fault(choices.texts):
        raise LeftOut("whose options cannot be told apart")
    return choices.texts, right


def _kind(data: Mapping[str, Any]) -> str:
    about = data.get("metadata")
    subject = about.get("subject") if isinstance(about, Mapping) else None
    return text_of(subject) or text_of(data.get("question_type")) or _KIND
