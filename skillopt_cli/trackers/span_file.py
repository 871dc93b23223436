"""Spans in a file, as lines of OTLP's JSON form, which collectors read."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

_IDS = frozenset(["traceId", "spanId", "parentSpanId"])


class SpanFile(SpanExporter):
    """An exporter that appends each batch of spans as one line.

    Args:
        path: of the file; its folders are made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append spans.

        Raises:
            OSError: the file cannot be written.
        """
        document = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
        line = json.dumps(_with_ids(document), ensure_ascii=False, separators=(",", ":"))
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing is left open."""

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Everything is written already."""
        return True


def _with_ids(value: Any) -> Any:
    """A document whose ids are hexadecimal, as OTLP has them, and not base64 as other bytes."""
    if isinstance(value, dict):
        return {
            key: b64decode(inner).hex() if key in _IDS else _with_ids(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_ids(member) for member in value]
    return value
