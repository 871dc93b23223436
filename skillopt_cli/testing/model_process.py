"""`run_model_server`: the simulated model as an HTTP server in a subprocess."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from skillopt_cli.backends.simulated.settings import SimulatedConfig

PROGRAM = "skillopt_cli.testing.model_server"


@dataclass(frozen=True, slots=True)
class ScriptedResponse:
    """The response to one call, instead of the simulated model's.

    Attributes:
        body: a JSON value, or a string that is sent unchanged.
        action: `reply` sends status, headers and body; `hang` never responds; `drop` closes the
            connection in the middle of the response; `call` makes the model call a tool, whose
            `name` and `arguments` are in the body.
    """

    status: int = 500
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    action: Literal["reply", "hang", "drop", "call"] = "reply"


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A running server.

    Attributes:
        url: base URL, ending in /v1.
        log: JSON lines, one per call: time, path, model, authorization, sha256 of the body, status,
            the prompt and completion tokens of the response, and the body where bodies are logged.
    """

    url: str
    log: Path
    process: subprocess.Popen[str]

    def script(self, *steps: ScriptedResponse) -> None:
        """Queue the responses of the next calls; later calls are answered by the model again."""
        self._post("script", json.dumps([asdict(step) for step in steps]).encode())

    def reset(self) -> None:
        """Empty the queue and the log, and restore the model's initial state."""
        self._post("reset", b"")

    def requests(self) -> list[dict[str, Any]]:
        """The entries of the log so far; a line that is being written is left out."""
        lines = self.log.read_bytes().split(b"\n")[:-1] if self.log.exists() else []
        return [json.loads(line) for line in lines]

    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the calls so far, if they are logged."""
        return [entry["body"] for entry in self.requests()]

    def _post(self, path: str, data: bytes) -> None:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"{self.url}/{path}", data, timeout=60) as response:
            response.read()


@contextmanager
def run_model_server(
    log: Path | None = None,
    *,
    bodies: bool = True,
    key: str = "",
    model: str = "",
    **simulated: Any,
) -> Iterator[ModelServer]:
    """Run a model server in a subprocess while the block lasts.

    Args:
        log: the request log; default: a file in a temporary folder.
        bodies: whether request bodies are logged.
        key: the key that calls need, else they get 401; empty for none.
        model: the model that calls must name, else they get 404; empty for any.
        simulated: fields of `SimulatedConfig`.
    """
    with TemporaryDirectory() as folder:
        path = log or Path(folder, "requests.jsonl")
        argv = [sys.executable, "-m", PROGRAM, "--port", "0", "--log", str(path)]
        argv += ["--log-bodies"] if bodies else []
        argv += ["--key", key] if key else []
        argv += ["--model", model] if model else []
        config = SimulatedConfig.model_validate(simulated)
        for name, value in config.model_dump(exclude_unset=True).items():
            argv += [flag(name), json.dumps(value)]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError(f"the model server ended with code {process.wait()}")
            yield ModelServer(url, path, process)
        finally:
            process.kill()
            process.communicate()


def flag(field_name: str) -> str:
    """The flag of a field of `SimulatedConfig`."""
    return f"--{field_name.replace('_', '-')}"
