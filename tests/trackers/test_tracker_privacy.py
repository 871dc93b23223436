"""No secret gets into what a tracker keeps or sends; a collector is asked with its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from command_line import SMALLEST, events, skillopt, train
from tracker_stores import Span, spans_of_request

from skillopt_cli.plugins import load_tracker

KEY = "sesame-open-the-door"
COLLECTORS_KEY = "collectors-own-key"
PROGRAM = Path(sys.executable).with_name("skillopt")


def needs(*names: str) -> pytest.MarkDecorator:
    lacking = [lack for name in names if (lack := load_tracker(name).missing())]
    return pytest.mark.skipif(bool(lacking), reason=f"not installed: {', '.join(lacking)}")


def leaks(folder: Path, *secrets: str) -> list[str]:
    """Files below a folder that hold one of the secrets; links count by what they lead to."""
    found = []
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found += [f"{path}: {secret}" for secret in secrets if secret.encode() in data]
    return found


def run_with_secrets(*trackers: str) -> Path:
    """A run in whose environment, settings and skill a key stands."""
    Path("mine.md").write_text(f"# Mine\n\nAnswer. The door: {KEY}\n", encoding="utf-8")
    said = [word for name in trackers for word in ("--tracker", name)]
    return train(
        *(*SMALLEST, *said, "--skill-init", "mine.md"),
        OPENAI_API_KEY=KEY,
        MY_SERVICE_TOKEN=KEY,
        USER="the-user-name",
    )


@needs("tensorboard", "otel")
def test_light_trackers_keep_no_secret() -> None:
    folder = run_with_secrets("tensorboard", "otel")
    assert events(folder, "subscriber_dropped") == []
    assert (folder / "trackers" / "otel" / "spans.jsonl").stat().st_size > 1000
    assert leaks(folder / "trackers", KEY) == []


@pytest.mark.slow
@needs("mlflow", "wandb")
def test_heavy_trackers_keep_no_secret_and_nothing_about_machine_and_user() -> None:
    folder = run_with_secrets("mlflow", "wandb")
    assert events(folder, "subscriber_dropped") == []
    stores = Path("stores")
    (folder / "trackers").rename(stores)
    for name in ("mlflow.db", "mlflow-files"):
        (folder.parents[1] / name).rename(stores / name)
    assert leaks(stores, KEY) == []
    # The skill holds the key, so it stays at home; the rest goes.
    kept = {path.name for path in stores.rglob("*") if path.is_file()}
    assert "best_skill.md" not in kept
    assert {"history.json", "summary.json", "config.yaml"} <= kept
    (record,) = stores.glob("wandb/wandb/offline-run-*/*.wandb")
    assert b"the-user-name" not in record.read_bytes()


@dataclass
class Collector:
    url: str = ""
    status: int = 200
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def spans(self) -> list[Span]:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        found: list[Span] = []
        for body in self.bodies:
            request = ExportTraceServiceRequest()
            request.ParseFromString(body)
            found += spans_of_request(request)
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    heard = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.headers.append({name.lower(): value for name, value in self.headers.items()})
            heard.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(heard.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    heard.url = f"http://127.0.0.1:{server.server_port}"
    yield heard
    server.shutdown()
    thread.join()
    server.server_close()


@needs("otel")
def test_spans_go_to_the_collector_the_variables_name_with_its_key(collector: Collector) -> None:
    Path(".env").write_text(
        f"OTEL_EXPORTER_OTLP_ENDPOINT={collector.url}\n"
        f"OTEL_EXPORTER_OTLP_HEADERS=x-key={COLLECTORS_KEY}\n"
        "OTEL_SERVICE_NAME=my-skills\n",
        encoding="utf-8",
    )
    folder = train(*SMALLEST, "--tracker", "otel", OPENAI_API_KEY=KEY)
    assert events(folder, "subscriber_dropped") == []
    assert {"seed", "step 1", "run"} <= {span.name for span in collector.spans()}
    assert {span.service for span in collector.spans()} == {"my-skills"}
    assert {headers["x-key"] for headers in collector.headers} == {COLLECTORS_KEY}
    sent = b"".join(collector.bodies) + repr(collector.headers).encode()
    assert KEY.encode() not in sent
    assert COLLECTORS_KEY.encode() not in b"".join(collector.bodies)
    assert leaks(folder, KEY, COLLECTORS_KEY) == []
    assert not (folder / "trackers" / "otel" / "spans.jsonl").exists()


@needs("otel")
def test_a_collector_that_is_not_there_is_told_once() -> None:
    ended = skillopt(
        *("train", "searchqa", *SMALLEST, "--run-id", "a", "--tracker", "otel"),
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
        OTEL_EXPORTER_OTLP_TIMEOUT="1",
    )
    assert ended.code == 0, ended.err
    (dropped,) = events(Path("outputs/searchqa/a"), "subscriber_dropped")
    assert dropped["reason"].startswith("no server answers at http://127.0.0.1:9: ")


@needs("otel")
def test_a_collector_that_takes_no_spans_is_told_of(collector: Collector) -> None:
    collector.status = 400
    ended = skillopt(
        *("train", "searchqa", *SMALLEST, "--run-id", "a", "--tracker", "otel"),
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
    )
    assert ended.code == 0, ended.err
    (dropped,) = events(Path("outputs/searchqa/a"), "subscriber_dropped")
    assert "spans could not be sent" in dropped["reason"]


@pytest.mark.slow
@needs("otel")
def test_spans_are_written_out_where_that_is_asked_for() -> None:
    told = subprocess.run(
        [PROGRAM, "train", "searchqa", *SMALLEST, "--run-id", "a", "--tracker", "otel"],
        env={**os.environ, "OTEL_TRACES_EXPORTER": "console"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"name": "step 1"' in told.stderr
    assert '"name": "step 1"' not in told.stdout
    assert events(Path("outputs/searchqa/a"), "subscriber_dropped") == []


@needs("otel")
@pytest.mark.parametrize("name", ["jaeger", "otlp"])
def test_an_exporter_nobody_offers_is_told_with_its_name(name: str) -> None:
    folder = train(
        *(*SMALLEST, "--tracker", "otel"),
        OTEL_TRACES_EXPORTER=name,
        OTEL_EXPORTER_OTLP_PROTOCOL="carrier-pigeon",
    )
    (dropped,) = events(folder, "subscriber_dropped")
    assert "no package here offers the OpenTelemetry exporter `" in dropped["reason"]
    assert ("jaeger" if name == "jaeger" else "carrier-pigeon") in dropped["reason"]
