"""OfficeQA records: the published CSV and what resembles it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, urlsplit

from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.core.task import Task

FILL_IN = "fill the id manifest in: `skillopt data prepare officeqa --manifest-dir DIR`"
_PAGE_KEYS = ("page", "pagenum", "page_id")
_LINES = re.compile(r"[\r\n]+")
_BETWEEN = {"source_files": re.compile(r","), "source_docs": re.compile(r",\s*(?=https?://)")}


def read_task(record: Record) -> Task:
    """A record as a task.

    Its data hold the names of the `files` with the answer, none when these are not known, and as
    `hints` where they are published, with the page where the address names it.

    Raises:
        DataError: it lacks something, or holds it in a form that is not known.
    """
    if "question" not in record.data and record.data.keys() & {"uid", "id"}:
        raise record.fault("names a question and does not hold it", FILL_IN)
    data = {
        "question": record.text("question").strip(),
        "answer": _answer(record),
        "files": [_base(name) for name in _listed(record, "source_files")],
        "hints": _listed(record, "source_docs"),
    }
    return Task(identify(record), sys.intern(_kind(record)), data)


def document(task: Task) -> Mapping[str, Any]:
    """A task as a record of a task file."""
    return {
        "uid": task.id,
        "question": task.data["question"],
        "ground_truth": task.data["answer"],
        "category": task.kind,
        "source_files": task.data["files"],
        "source_docs": task.data["hints"],
    }


def pages_of(task: Task) -> tuple[tuple[str, int], ...]:
    """Document and page of each hint that names a page, without repetition."""
    files, hints = task.data["files"], task.data["hints"]
    if len(files) == 1:
        files = files * len(hints)
    pairs = ((file, page_of(hint)) for file, hint in zip(files, hints, strict=False))
    return tuple(dict.fromkeys((file, page) for file, page in pairs if page is not None))


def identify(record: Record) -> str:
    """The id of a record: `uid`, else `id`."""
    if record.data.get("uid") is None:
        return record.identifier()
    (uid, *_) = record.texts("uid")
    return uid.strip()


def page_of(hint: str) -> int | None:
    """The page that an address names in its query."""
    try:
        query = parse_qs(urlsplit(hint).query)
    except ValueError:
        return None
    found = (query[key][0] for key in _PAGE_KEYS if key in query)
    page = next(found, "")
    return int(page) if page.isascii() and page.isdigit() else None


def _answer(record: Record) -> str:
    key = "ground_truth" if record.data.get("ground_truth") is not None else "answer"
    answers = record.texts(key)
    if len(answers) > 1:
        raise record.fault(f"`{key}` holds {len(answers)} answers", "give one text")
    return answers[0].strip()


def _kind(record: Record) -> str:
    for key in ("category", "difficulty"):
        if str(record.data.get(key) or "").strip():
            return record.text(key).strip()
    return record.kind("question")


def _base(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).name


def _listed(record: Record, key: str) -> list[str]:
    """A list however it is written: as one, as JSON, by lines, or by commas."""
    value = record.data.get(key)
    if value is None:
        return []
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            raise record.fault(f"`{key}` begins like a list and is none") from None
    if isinstance(value, str):
        lines = _LINES.split(value)
        value = [part for line in lines for part in _BETWEEN[key].split(line)]
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise record.fault(f"`{key}` is no list of names")
    return list(dict.fromkeys(part.strip(" ,") for part in value if part.strip(" ,")))
