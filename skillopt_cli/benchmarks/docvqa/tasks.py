"""Tasks of DocVQA: rows of the published CSV splits, of JSON files, and of the hub."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

from skillopt_cli.benchmarks.docvqa.references import references
from skillopt_cli.benchmarks.kit.records import LeftOut, Record, text_of
from skillopt_cli.core.task import Task

_PATH = re.compile(r"\s*\bdocument_path:\s*(\S.*?)\s*\Z", re.DOTALL)
_ANSWERS = ("answers", "answer", "ground_truth")
_KINDS = ("topic", "category", "kind", "question_types")
_KIND = "document"


def read_task(record: Record) -> Task:
    """A record as a task; its `image` is the path of the page's picture, empty on the hub.

    Raises:
        LeftOut: it has no answer, as the questions of the public test set.
        DataError: it has no id or no question.
    """
    question, image = split_path(record.text("question"))
    if not question:
        raise record.fault("`question` is empty")
    data = record.data
    values = (references(data[key]) for key in _ANSWERS if data.get(key) is not None)
    answers = next(filter(None, values), ())
    if not answers:
        raise LeftOut("without an answer")
    image = text_of(data.get("image_path")) or image or text_of(data.get("image"))
    content = {"question": question, "answers": list(answers), "image": image}
    return Task(identifier(record), sys.intern(_kind(data)), content)


def identifier(record: Record) -> str:
    """The id of a record: its `questionId`, else its `id`.

    Raises:
        DataError: there is none.
    """
    return record.identifier("questionId", "id")


def split_path(question: str) -> tuple[str, str]:
    """A question, and the path of its page where it ends with one."""
    path = _PATH.search(question)
    return (question[: path.start()].strip(), path[1]) if path else (question.strip(), "")


def _kind(data: Mapping[str, Any]) -> str:
    """The topic of the question, such as "table/list"."""
    for key in _KINDS:
        value = data.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if text_of(value):
            return text_of(value)
    return _KIND
