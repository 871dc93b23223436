"""The simulated model as a real HTTP server on the loopback: a program.

`python -m skillopt_cli.testing.model_server --port 0 --log FILE` prints its base URL and serves
until it is stopped; every setting of `model.simulated` is a flag. With `--key` calls must have that
key, with `--model` they must name that model; others are answered with 401 and 404.

It supports OpenAI's Chat Completions and Responses and Anthropic's Messages, the latter two also as
streams, as the programs of agents need them. Needs starlette and uvicorn (the `dev` extra). Tests
use `run_model_server`.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.testing.model_app import ModelApp
from skillopt_cli.testing.model_process import flag


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Serve the simulated model over HTTP.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--log", type=Path, help="append one JSON line per call")
    parser.add_argument("--log-bodies", action="store_true", help="log request bodies too")
    parser.add_argument("--key", default="", help="answer 401 to calls without this key")
    parser.add_argument("--model", default="", help="answer 404 to calls for another model")
    for name, info in SimulatedConfig.model_fields.items():
        # JSON values, which the configuration model validates.
        parser.add_argument(
            flag(name), type=json.loads, default=info.default, help=info.description
        )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the base URL and serve until the process is stopped."""
    import uvicorn

    given = _arguments(argv)
    fields = {name: getattr(given, name) for name in SimulatedConfig.model_fields}
    app = ModelApp(
        SimulatedConfig.model_validate(fields),
        given.log,
        bodies=given.log_bodies,
        key=given.key,
        model=given.model,
    )
    listener = socket.create_server(("127.0.0.1", given.port), backlog=1024)
    # Headers and body are sent apart: without this each response waits 40 ms for a delayed ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Calls wait in the listener's queue until the server has started.
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/v1\n")
    sys.stdout.flush()
    config = uvicorn.Config(
        app.build(), log_level="critical", access_log=False, timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
