"""Every test runs in an empty folder, with an empty environment and home, and only loopback."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from skillopt_cli.backends.chat.weights import fetch_weights, find_weights

KEPT = {"PATH", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "PYTEST_CURRENT_TEST"}
LOOPBACK = {"127.0.0.1", "::1", "localhost"}

# How long an example takes is the machine's business, and every machine tries the same ones.
settings.register_profile(
    "same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")


@pytest.fixture(scope="session")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a llama.cpp server with a small model, which runs in this process."""
    import xllamacpp

    cache = {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}
    params = xllamacpp.CommonParams()
    params.model.path = str(fetch_weights(find_weights("", cache)))
    params.n_ctx = 16384
    params.n_parallel = 1
    params.port = 0
    params.verbosity = 0
    params.warmup = False
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Paths of homes to be, one for each test.

    Counted here: pytest's own numbering reads the whole folder for each new name.
    """
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def clean_surroundings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, homes: Iterator[Path]
) -> Iterator[None]:
    for name in set(os.environ) - KEPT:
        if not name.startswith(("PYTEST_", "COV_")):
            monkeypatch.delenv(name)
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    monkeypatch.chdir(tmp_path)
    yield


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect
    connect_ex = socket.socket.connect_ex

    def checked(address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to reach {address}")

    def guarded(self: socket.socket, address: Any) -> None:
        checked(address)
        return connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        checked(address)
        return connect_ex(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_ex)
