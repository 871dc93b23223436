"""Items of DocVQA: rows of the published CSV splits, of JSON files, and of the hub."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from skillopt_cli.benchmarks.docvqa.references import references
from skillopt_cli.benchmarks.records import LeftOut, Record

_PATH = re.compile(r"\s*\bdocument_path:\s*(\S.*?)\s*\Z", re.DOTALL)
_ANSWERS = ("answers", "answer", "ground_truth")
_KINDS = ("topic", "category", "kind", "question_types")
_KIND = "document"


@dataclass(frozen=True, slots=True)
class Item:
    """One question about a page.

    Attributes:
        kind: the topic of the question, such as "table/list".
        image: path of the page's picture, as the record has it; empty on the hub.
    """

    id: str
    kind: str
    question: str
    answers: tuple[str, ...]
    image: str = ""


def read_item(record: Record) -> Item:
    """The item of a record.

    Raises:
        LeftOut: it has no answer, as the questions of the public test set.
        DataError: it has no id or no question.
    """
    question, image = split_path(record.text("question"))
    if not question:
        raise record.fault("`question` is empty")
    data = record.data
    told = (references(data[key]) for key in _ANSWERS if data.get(key) is not None)
    answers = next((found for found in told if found), ())
    if not answers:
        raise LeftOut("without an answer")
    image = _filled(data.get("image_path")) or image or _filled(data.get("image"))
    return Item(identifier(record), _kind(data), question, answers, image)


def identifier(record: Record) -> str:
    """The id of a record: its `questionId`, else its `id`.

    Raises:
        DataError: there is none.
    """
    key = "questionId" if record.data.get("questionId") not in (None, "") else "id"
    return replace(record, data={"id": record.data.get(key)}).identifier()


def split_path(question: str) -> tuple[str, str]:
    """A question, and the path of its page where one stands at its end."""
    path = _PATH.search(question)
    return (question[: path.start()].strip(), path[1]) if path else (question.strip(), "")


def _kind(data: Mapping[str, Any]) -> str:
    for key in _KINDS:
        value = data.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if _filled(value):
            return _filled(value)
    return _KIND


def _filled(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
