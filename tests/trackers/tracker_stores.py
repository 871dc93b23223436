"""What each library's store of a run holds, read back with the library's own means."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict

Rows = dict[int, dict[str, Any]]
_BLOCK = 32 * 1024
_HEAD = 7


@dataclass
class Found:
    """A tracker's run: rows by step, how often each was written, and what stands beside them."""

    rows: Rows = field(default_factory=dict)
    written: dict[tuple[int, str], int] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    summaries: dict[str, list[float]] = field(default_factory=dict)
    status: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    runs: int = 0

    def put(self, step: int, name: str, value: Any) -> None:
        self.rows.setdefault(step, {})[name] = value
        self.written[step, name] = self.written.get((step, name), 0) + 1


def mlflow_run(outputs: Path) -> Found:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{outputs.absolute() / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("skillopt")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    (run, *_) = runs
    found = Found(runs=len(runs), settings=run.data.params, status=run.info.status)
    for name in run.data.metrics:
        for metric in client.get_metric_history(run.info.run_id, name):
            if name.startswith("summary/"):
                found.summary[name.removeprefix("summary/")] = metric.value
                found.summaries.setdefault(name, []).append(metric.value)
            else:
                found.put(metric.step, name, metric.value)
    for listed in client.list_artifacts(run.info.run_id):
        place = client.download_artifacts(run.info.run_id, listed.path)
        found.files[listed.path] = Path(place).read_bytes()
    return found


def tensorboard_run(folder: Path) -> Found:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    place = folder / "trackers" / "tensorboard"
    reader = EventAccumulator(str(place), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    found = Found(runs=1)
    for name in reader.Tags()["scalars"]:
        for event in reader.Scalars(name):
            if name.startswith("summary/"):
                found.summary[name.removeprefix("summary/")] = event.value
            else:
                found.put(event.step, name, event.value)
    for name in reader.Tags()["tensors"]:
        for event in reader.Tensors(name):
            (text,) = event.tensor_proto.string_val
            found.put(event.step, name, text.decode())
    return found


def wandb_run(folder: Path) -> Found:
    """All segments of the run, one per process, in the order in which `wandb sync` takes them."""
    found = Found()
    ids = set()
    for path in sorted((folder / "trackers" / "wandb" / "wandb").glob("offline-run-*/*.wandb")):
        for record in _wandb_records(path):
            match record.WhichOneof("record_type"):
                case "run":
                    ids.add(record.run.run_id)
                    for update in record.run.config.update:
                        found.settings[update.key] = json.loads(update.value_json)
                case "history":
                    _take_row(found, record.history.item)
                case "summary":
                    for update in record.summary.update:
                        name = update.key or "/".join(update.nested_key)
                        found.summary[name.removeprefix("summary/")] = json.loads(update.value_json)
                case "exit":
                    found.status = str(record.exit.exit_code)
        files = path.parent / "files"
        found.files |= {p.name: p.read_bytes() for p in files.iterdir()}
    found.runs = len(ids)
    return found


def _take_row(found: Found, items: Any) -> None:
    row = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}
    step = row.pop("_step")
    for name, value in row.items():
        found.put(step, name, value)


def _wandb_records(path: Path) -> Iterator[Any]:
    """The records of a run file: the log form of LevelDB around messages of the library's own."""
    from wandb.proto.wandb_internal_pb2 import Record

    data = path.read_bytes()
    at, message = _HEAD, b""
    while at + _HEAD <= len(data):
        if (left := _BLOCK - at % _BLOCK) < _HEAD:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + _HEAD])
        message += data[at + _HEAD : at + _HEAD + length]
        at += _HEAD + length
        if kind in {1, 4}:
            record = Record()
            record.ParseFromString(message)
            message = b""
            yield record


@dataclass
class Span:
    name: str
    trace: bytes
    id: bytes
    parent: bytes
    began: int
    ended: int
    values: dict[str, Any]
    status: int
    service: str


def spans_of_request(request: Any) -> Iterator[Span]:
    for group in request.resource_spans:
        named = {a.key: a.value.string_value for a in group.resource.attributes}
        for scope in group.scope_spans:
            for span in scope.spans:
                values = {
                    a.key: getattr(a.value, a.value.WhichOneof("value") or "string_value")
                    for a in span.attributes
                }
                yield Span(
                    span.name,
                    span.trace_id,
                    span.span_id,
                    span.parent_span_id,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    values,
                    span.status.code,
                    named["service.name"],
                )


def file_spans(folder: Path) -> list[Span]:
    """The spans of `spans.jsonl`, through the messages a collector reads them into."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    found = []
    text = (folder / "trackers" / "otel" / "spans.jsonl").read_text("utf-8")
    for line in text.splitlines():
        request = ParseDict(_in_base64(json.loads(line)), ExportTraceServiceRequest())
        found += list(spans_of_request(request))
    return found


def _in_base64(value: Any) -> Any:
    """OTLP writes ids in hexadecimal where protobuf's JSON has base64."""
    from base64 import b64encode

    if isinstance(value, dict):
        return {
            key: b64encode(bytes.fromhex(inner)).decode()
            if key in {"traceId", "spanId", "parentSpanId"}
            else _in_base64(inner)
            for key, inner in value.items()
        }
    return [_in_base64(inner) for inner in value] if isinstance(value, list) else value
