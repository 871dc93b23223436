"""Tasks of SearchQA: a question, its search results and its answers."""

from __future__ import annotations

import sys

from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.core.task import Task

CONTEXT_LIMIT = 6000
PIECE = "[DOC]"
CUT_MARK = "\n[the context is cut here]"


def read_task(record: Record) -> Task:
    """A record as a task.

    Raises:
        DataError: it lacks something, or is a record of an id manifest.
    """
    if record.data.keys() == {"id"}:
        raise record.fault(
            "holds an id and nothing else",
            "fill the id manifest in: `skillopt data prepare searchqa --manifest-dir DIR`",
        )
    data = {
        "question": record.text("question"),
        "context": record.text("context", blank=True),
        "answers": record.texts("answers"),
    }
    return Task(record.identifier(), sys.intern(record.kind("qa")), data)


def cut_context(context: str, limit: int = CONTEXT_LIMIT) -> str:
    """At most `limit` characters: whole "[DOC]" pieces, or a marked cut through the first one."""
    if len(context) <= limit:
        return context
    end = context.rfind(PIECE, 0, limit + len(PIECE))
    whole = context[: max(end, 0)].rstrip()
    return whole or context[:limit] + CUT_MARK
