"""JSON lines: each fact as one line, for programs that follow a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

from skillopt_cli.core.events import Stamped
from skillopt_cli.store.codec import dump_fact


class JsonLines:
    """Writes each fact as one JSON document on a line of its own, as in `events.jsonl`.

    Args:
        stream: where the lines go, usually standard output.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, fact: Stamped) -> None:
        """Write the fact: `{"schema": 1, "number": ..., "time": ..., "event": {"kind": ...}}`."""
        self._write(dump_fact(fact))

    def close(self, summary: Mapping[str, Any]) -> None:
        """Write the last line, `{"summary": {...}}`: the only one without `event`."""
        self._write(json.dumps({"summary": dict(summary)}, ensure_ascii=False))

    def _write(self, line: str) -> None:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            line.encode(encoding)
        except UnicodeEncodeError:
            line = json.dumps(json.loads(line))
        self._stream.write(line + "\n")
        self._stream.flush()
