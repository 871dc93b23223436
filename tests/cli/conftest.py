"""One model server for all tests of the commands."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from skillopt_cli.testing import ModelServer, run_model_server


@pytest.fixture(scope="session")
def shared_server() -> Iterator[ModelServer]:
    with run_model_server() as running:
        yield running


@pytest.fixture
def terminal() -> Iterator[None]:
    """Programs heed Ctrl-C and a closing terminal, unlike a shell's jobs in the background."""
    interrupted = signal.signal(signal.SIGINT, signal.default_int_handler)
    hung_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGHUP, hung_up)


@pytest.fixture
def server(shared_server: ModelServer) -> ModelServer:
    """The server as if newly started."""
    shared_server.reset()
    return shared_server
