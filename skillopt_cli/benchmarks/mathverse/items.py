"""Items of MathVerse, as its test-mini files have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skillopt_cli.benchmarks.choice import choices_fault
from skillopt_cli.benchmarks.choice_records import Choices, split_question
from skillopt_cli.benchmarks.picture_items import PictureItem
from skillopt_cli.benchmarks.records import LeftOut, Record

_FREE = "free-form"
_KIND = "mathematics"


def read_item(record: Record, version: str) -> PictureItem:
    """The item of a record.

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
    answer = data.get("answer")
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        raise LeftOut("without an answer")
    if not str(answer).strip():
        raise LeftOut("without an answer")
    question, choices = _asked(data)
    free = str(data.get("question_type") or (_FREE if not choices.texts else "")).strip() == _FREE
    identity, reference = identifier(record, version), str(answer).strip()
    item = PictureItem(identity, _kind(data), question, image, answer=reference)
    return item if free else _with_choices(item, choices)


def identifier(record: Record, version: str = "any") -> str:
    """The id of a record: `id`, else that of its problem, else that of this version of it.

    Args:
        version: empty where several versions of a problem are kept, whose ids must differ.

    Raises:
        DataError: there is none.
    """
    problem, sample = "problem_index", "sample_index"
    names = ("id", problem, sample) if version else ("id", sample, problem)
    value = next((record.data[name] for name in names if record.data.get(name) is not None), None)
    return replace(record, data={"id": value}).identifier()


def _asked(data: Mapping[str, Any]) -> tuple[str, Choices]:
    """Question and options; these are in the question for evaluation where the picture has them."""
    question, choices = split_question(_text(data.get("question")))
    if not choices.texts:
        _, choices = split_question(_text(data.get("question_for_eval")))
    return question, choices


def _with_choices(item: PictureItem, choices: Choices) -> PictureItem:
    if not choices.texts:
        raise LeftOut("without options")
    right = choices.place(item.answer)
    if right is None:
        raise LeftOut("without an answer")
    if choices_fault(choices.texts):
        raise LeftOut("whose options cannot be told apart")
    return replace(item, choices=choices.texts, right=right)


def _kind(data: Mapping[str, Any]) -> str:
    about = data.get("metadata")
    subject = about.get("subject") if isinstance(about, Mapping) else None
    return _text(subject) or _text(data.get("question_type")) or _KIND


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
