"""SealQA records: the published rows and what resembles them."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.search.index import Document
from skillopt_cli.benchmarks.search.provider import Hit, hits_of
from skillopt_cli.core.task import Task

FILL_IN = "fill the id manifest in: `skillopt data prepare sealqa --manifest-dir DIR`"
DOCUMENTS = ("documents", "docs", "12_docs", "20_docs", "30_docs")
"""Where whole documents may stand; the first that has some counts."""
_BETWEEN = re.compile(r"[\r\n;]+|,\s+|,(?=https?://)")


def read_task(record: Record) -> Task:
    """A record as a task.

    Its data hold `results`, the search results that come with it, or `told`, the same as one text
    where they are not a list, and `documents`, texts to be found by a search of one's own.

    Raises:
        DataError: it lacks something, or holds it in a form that is not known.
    """
    if record.data.keys() <= {"id", "question_id", "canary"}:
        raise record.fault("names a question and does not hold it", FILL_IN)
    results, text = _results(record)
    types = _texts(record, "question_types")
    data = {
        "question": record.text("question").strip(),
        "answers": [answer.strip() for answer in record.texts("answer")],
        "freshness": _line(record, "freshness"),
        "types": types,
        "results": [asdict(hit) for hit in results],
        "told": text,
        "documents": [asdict(document) for document in _documents(record)],
        "urls": _texts(record, "urls"),
    }
    kind = _line(record, "topic") or (types[0] if types else record.kind("question"))
    return Task(identify(record), sys.intern(kind), data)


def document(task: Task) -> Mapping[str, Any]:
    """A task as a record of a task file."""
    data = task.data
    return {
        "id": task.id,
        "question": data["question"],
        "answer": data["answers"],
        "topic": task.kind,
        "urls": data["urls"],
        "search_results": data["told"] or data["results"],
        "documents": data["documents"],
        "freshness": data["freshness"],
        "question_types": data["types"],
    }


def identify(record: Record) -> str:
    """The id of a record, else one made of its question: a place in a file identifies nothing."""
    for key in ("question_id", "id"):
        if record.data.get(key) not in (None, ""):
            (name, *_) = record.texts(key)
            return name.strip()
    question = " ".join(record.text("question").split())
    return f"sealqa-{hashlib.sha256(question.encode()).hexdigest()[:12]}"


def _line(record: Record, key: str) -> str:
    return record.text(key, blank=True).strip() if record.data.get(key) is not None else ""


def _value(record: Record, key: str) -> Any:
    """The value of a key; a list or mapping may be written as a text, as in a CSV file."""
    value = record.data.get(key)
    if isinstance(value, str) and value.strip()[:1] in {"[", "{"}:
        for read in (json.loads, ast.literal_eval):
            try:
                return read(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return value


def _texts(record: Record, key: str) -> list[str]:
    value = _value(record, key)
    if isinstance(value, str):
        value = _BETWEEN.split(value)
    if value is None:
        return []
    if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
        raise record.fault(f"`{key}` is no list of texts")
    return list(dict.fromkeys(part.strip() for part in value if part.strip()))


def _results(record: Record) -> tuple[tuple[Hit, ...], str]:
    value = _value(record, "search_results")
    if value is None or value == "":
        return (), ""
    if isinstance(value, str):
        return (), value.strip()
    hits = hits_of(value)
    if hits is None:
        raise record.fault("`search_results` is neither a text nor a list of results")
    return tuple(hits), ""


def _documents(record: Record) -> tuple[Document, ...]:
    for key in DOCUMENTS:
        value = _value(record, key)
        if value:
            hits = hits_of(value)
            if hits is None:
                raise record.fault(f"`{key}` is no list of documents")
            return tuple(Document(h.title or h.url, h.snippet, h.url, h.date) for h in hits)
    return ()
