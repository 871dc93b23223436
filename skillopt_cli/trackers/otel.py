"""OpenTelemetry: a trace per run, with a span for each process, recorded step and stage.

The standard `OTEL_*` variables name the exporter; without them spans go to the run folder.
"""

from __future__ import annotations

import hashlib
import json
import sys
from base64 import b64decode
from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context

from skillopt_cli import __version__
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.ports import Closing, Point, StageTime, TrackedRun
from skillopt_cli.trackers.specs import SPANS, exporter_of

_EXPORTERS = "opentelemetry_traces_exporter"
_BY_PROTOCOL = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_NONE = ("", "none")
_SECOND = 1_000_000_000
_IDS = frozenset(["traceId", "spanId", "parentSpanId"])


class SpanFile(SpanExporter):
    """Appends each batch of spans to a file as one line.

    Args:
        path: the file; missing folders are created.
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
        """No-op: no file stays open."""

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """No-op: everything is written already."""
        return True


def _with_ids(value: Any) -> Any:
    """The document with its ids in hexadecimal, as OTLP requires, instead of base64."""
    if isinstance(value, dict):
        return {
            key: b64decode(inner).hex() if key in _IDS else _with_ids(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_ids(member) for member in value]
    return value


class OtelTracker:
    """The trace of one run. Ids derive from the run, so that a span sent twice is one span."""

    def __init__(self, run: TrackedRun) -> None:
        self._exporter, self.place = _exporter(run)
        self._ids = _Ids(run.identity)
        self._spans = _SpanBuffer()
        named = "OTEL_SERVICE_NAME" in run.environment or "service.name=" in run.environment.get(
            "OTEL_RESOURCE_ATTRIBUTES", ""
        )
        provider = TracerProvider(
            resource=Resource.create({} if named else {"service.name": "skillopt"}),
            id_generator=self._ids,
            span_limits=SpanLimits(max_span_attributes=SpanLimits.UNSET),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(self._spans)
        self._tracer = provider.get_tracer("skillopt", __version__)
        self._run = run
        self._process = self._begin("run", run.began, f"process {run.began!r}")

    def record(self, point: Point) -> None:
        """Send a step's span, with a child per stage."""
        name = f"step {point.step}" if point.step else "seed"
        span = self._begin(name, point.began, name, self._process)
        span.set_attributes({f"skillopt.{key}": value for key, value in point.values.items()})
        span.set_attributes({f"skillopt.{key}": text for key, text in point.texts.items()})
        span.set_attribute("skillopt.step", point.step)
        self._stages(point.stages, name, span)
        span.end(_nanoseconds(point.ended))
        self._send()

    def close(self, closing: Closing) -> None:
        """Send the process's span, with the numbers of the summary and the status."""
        self._stages(closing.stages, f"process {self._run.began!r}", self._process)
        self._process.set_attributes({
            f"skillopt.summary.{key}": value for key, value in closing.values.items()
        })
        self._process.set_attribute("skillopt.status", closing.status)
        if closing.status in {"failed", "interrupted"}:
            self._process.set_status(Status(StatusCode.ERROR, closing.status))
        self._process.end(_nanoseconds(closing.time))
        self._send()
        self._exporter.shutdown()

    def _stages(self, stages: Iterable[StageTime], owner: str, parent: Span) -> None:
        for number, stage in enumerate(stages):
            span = self._begin(stage.stage, stage.began, f"{owner} stage {number}", parent)
            span.set_attributes({
                "skillopt.label": stage.label,
                "skillopt.attempts": stage.attempts,
                "skillopt.broken": stage.broken,
                "skillopt.recalled": stage.recalled,
            })
            span.end(_nanoseconds(stage.ended))

    def _begin(self, name: str, began: float, key: str, parent: Span | None = None) -> Span:
        # An empty context: other traces of this process are not part of the run.
        context = set_span_in_context(parent, Context()) if parent else Context()
        self._ids.key = key
        attributes = {
            "skillopt.run": self._run.name,
            "skillopt.benchmark": self._run.benchmark,
        }
        return self._tracer.start_span(
            name, context, attributes=attributes, start_time=_nanoseconds(began)
        )

    def _send(self) -> None:
        """Export the spans that have ended.

        Raises:
            OSError: the exporter refused them.
        """
        spans = self._spans.drain()
        if spans and self._exporter.export(spans) is not SpanExportResult.SUCCESS:
            raise OSError(f"{len(spans)} spans could not be sent")


def _exporter(run: TrackedRun) -> tuple[SpanExporter, str]:
    """The exporter that the variables name, and where it sends to.

    Raises:
        ConfigError: no package offers the exporter.
    """
    wanted, address = exporter_of(run.environment)
    named = (run.environment[name] for name in _PROTOCOLS if run.environment.get(name))
    protocol = next(named, "http/protobuf")
    if wanted in _NONE:
        return SpanFile(run.folder / SPANS), SPANS
    if wanted == "console":
        # Standard output carries the worker's replies.
        return ConsoleSpanExporter(out=sys.stderr), wanted
    name = _BY_PROTOCOL.get(protocol, f"otlp with {protocol}") if wanted == "otlp" else wanted
    found = next(iter(entry_points(group=_EXPORTERS, name=name)), None)
    if found is None:
        raise ConfigError(
            f"no package here offers the OpenTelemetry exporter `{name}`",
            "set OTEL_TRACES_EXPORTER to otlp or console, or install its package",
        )
    return found.load()(), f"{wanted} {protocol} {address}"


def _nanoseconds(time: float) -> int:
    return int(time * _SECOND)


class _Ids(IdGenerator):
    """Derives ids from run and key, so that they are reproducible."""

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self.key = ""

    def generate_trace_id(self) -> int:
        return int(self._identity, 16)

    def generate_span_id(self) -> int:
        digest = hashlib.sha256(f"{self._identity} {self.key}".encode()).hexdigest()
        return int(digest[:16], 16)


class _SpanBuffer(SpanProcessor):
    """Collects ended spans; the library's own processors swallow errors of the exporter."""

    def __init__(self) -> None:
        self._spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self._spans.append(span)

    def drain(self) -> list[ReadableSpan]:
        spans, self._spans = self._spans, []
        return spans
