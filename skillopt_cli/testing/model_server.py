"""A real HTTP server on the loopback, answered by the simulated model.

It speaks OpenAI's Chat Completions and Responses and Anthropic's Messages, the latter two also as
streams, so that programs of agents can work with it.

`python -m skillopt_cli.testing.model_server --port 0 --log FILE` prints its base URL and serves
until stopped; every setting of `model.simulated` is a flag. With `--key` calls must bring that key,
with `--model` they must name that model; others are answered with 401 and 404. In tests,
`with model_server() as server:` runs it in a process of its own. Needs starlette and uvicorn (the
`dev` extra).
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skillopt_cli.config.model_section import SimulatedConfig
from skillopt_cli.testing.model_service import Admission, ModelService, Scripted

__all__ = ["ModelServer", "Scripted", "main", "model_server"]


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A running server.

    Attributes:
        url: base URL, ending in /v1.
        log: JSON lines, one per call: time, path, model, authorization, sha256 of the body, status,
            the tokens of prompt and completion that the answer claims, and the body where bodies
            are logged.
    """

    url: str
    log: Path
    process: subprocess.Popen[str]

    def script(self, *steps: Scripted) -> None:
        """Queue what happens to the next calls, one step each; later calls are answered again."""
        data = json.dumps([asdict(step) for step in steps]).encode()
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"{self.url}/script", data, timeout=10) as answer:
            answer.read()

    def requests(self) -> list[dict[str, Any]]:
        """The log so far."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]

    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the calls so far, where they are logged."""
        return [entry["body"] for entry in self.requests()]


@contextmanager
def model_server(
    log: Path | None = None,
    *,
    bodies: bool = True,
    key: str = "",
    model: str = "",
    **simulated: Any,
) -> Iterator[ModelServer]:
    """Run a server in a subprocess for the length of the block.

    Args:
        log: the request log; in a temporary folder when None.
        bodies: log request bodies as well.
        key: calls must bring it, else they get 401; empty asks for none.
        model: calls must name it, else they get 404; empty takes any name.
        simulated: fields of `SimulatedConfig`.
    """
    with TemporaryDirectory() as folder:
        path = log or Path(folder, "requests.jsonl")
        argv = [sys.executable, "-m", __name__, "--port", "0", "--log", str(path)]
        argv += ["--log-bodies"] if bodies else []
        argv += ["--key", key] if key else []
        argv += ["--model", model] if model else []
        config = SimulatedConfig.model_validate(simulated)
        for name, value in config.model_dump(exclude_unset=True).items():
            argv += [_flag(name), json.dumps(value)]
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


def _flag(field_name: str) -> str:
    return f"--{field_name.replace('_', '-')}"


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Serve the simulated model over HTTP.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--log", type=Path, help="append one JSON line per call")
    parser.add_argument("--log-bodies", action="store_true", help="log request bodies too")
    parser.add_argument("--key", default="", help="answer 401 to calls without this key")
    parser.add_argument("--model", default="", help="answer 404 to calls for another model")
    for name, info in SimulatedConfig.model_fields.items():
        # JSON values, which the configuration model then checks like any others.
        parser.add_argument(
            _flag(name), type=json.loads, default=info.default, help=info.description
        )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the base URL, then serve until the process is stopped."""
    import uvicorn

    given = _arguments(argv)
    fields = {name: getattr(given, name) for name in SimulatedConfig.model_fields}
    service = ModelService(
        SimulatedConfig.model_validate(fields),
        given.log,
        given.log_bodies,
        Admission(given.key, given.model),
    )
    listener = socket.create_server(("127.0.0.1", given.port), backlog=1024)
    # Headers and body leave apart: without this each answer waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Calls that come before the server is up wait in the listener's queue.
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/v1\n")
    sys.stdout.flush()
    config = uvicorn.Config(
        service.app(), log_level="critical", access_log=False, timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
