"""Servers that answer, that refuse, and that take a call and say nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Thread

import pytest

from skillopt_cli.core.errors import TrackerFailed
from skillopt_cli.ports import Server
from skillopt_cli.trackers import specs
from skillopt_cli.trackers.specs import unreachable


@pytest.fixture
def door() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def told(port: int, scheme: str = "http", login: str = "") -> TrackerFailed | None:
    return unreachable(Server(f"{scheme}://{login}127.0.0.1:{port}/x", "THE_URL"), {})


def replying(door: socket.socket, reply: bytes, heard: list[bytes]) -> Thread:
    """Take one call, read what comes, say that."""

    def take() -> None:
        caller, _ = door.accept()
        with caller:
            heard.append(caller.recv(65536))
            caller.sendall(reply)

    thread = Thread(target=take)
    thread.start()
    return thread


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n",
        b"something else speaks here\n",
        b"",
    ],
)
def test_whatever_a_server_answers_it_is_there(
    door: socket.socket, reply: bytes, scheme: str
) -> None:
    thread = replying(door, reply, [])
    assert told(door.getsockname()[1], scheme) is None
    thread.join()


@pytest.mark.parametrize(
    "environment",
    [{"ALL_PROXY": "socks5://127.0.0.1:1080"}, {"HTTP_PROXY": "http://127.0.0.1:1"}],
)
def test_a_server_of_this_machine_needs_no_proxy(
    door: socket.socket, environment: dict[str, str]
) -> None:
    thread = replying(door, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", [])
    url = f"http://127.0.0.1:{door.getsockname()[1]}"
    assert unreachable(Server(url, "THE_URL"), environment) is None
    thread.join()


def test_a_proxy_that_cannot_be_used_is_left_to_the_library() -> None:
    environment = {"ALL_PROXY": "socks5://127.0.0.1:1080"}
    assert unreachable(Server("http://tracker.test", "THE_URL"), environment) is None


def test_a_login_is_neither_sent_nor_told(door: socket.socket) -> None:
    heard: list[bytes] = []
    thread = replying(door, b"HTTP/1.1 204 None\r\n\r\n", heard)
    assert told(door.getsockname()[1], login="me:sesame@") is None
    thread.join()
    assert b"authorization" not in heard[0].lower()
    port = door.getsockname()[1]
    door.close()
    gone = told(port, login="me:sesame@")
    assert gone is not None
    assert gone.message == f"no server answers at http://127.0.0.1:{port}/x: connection refused"
    assert "`THE_URL`" in gone.hint


def test_a_server_that_says_nothing_is_not_waited_for(
    door: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(specs, "SECONDS", 0.2)
    gone = told(door.getsockname()[1])
    assert gone is not None
    assert "no answer in" in gone.message


def test_what_is_no_address_is_left_to_the_library() -> None:
    assert unreachable(Server("http://", "THE_URL"), {}) is None
