"""Slow clients are cut off after a bounded time: over real sockets, with small bounds."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.server import ServerState
from web_rig import TOKEN, until

from skillopt_cli.web.app import application
from skillopt_cli.web.connections import LIMITS, ConnectionLimits
from skillopt_cli.web.security import Access
from skillopt_cli.web.server import server_config

DOCS = Path(__file__).parents[2] / "docs"
NEVER = 600.0
"""A bound that no test reaches."""
SHORT = 0.05
ORIGIN = b"Origin: http://127.0.0.1\r\n"
KEY = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n".encode()


def limits(**seconds: Any) -> ConnectionLimits:
    """Only what is named is bounded."""
    return ConnectionLimits(
        **({"request": NEVER, "idle": NEVER, "unread": NEVER, "stream": NEVER} | seconds)
    )


class Connect:
    """Connects to a server that runs in a thread.

    Attributes:
        served: its connections, and how many requests it answered.
    """

    def __init__(self, address: Any, served: ServerState) -> None:
        self._address = address
        self.served = served
        self.clients: list[socket.socket] = []

    def __call__(self, sent: bytes = b"", room: int = 0) -> socket.socket:
        """A connection over which this was sent; `room` is what it takes without being read."""
        client = socket.socket()
        self.clients.append(client)
        if room:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        client.connect(self._address)
        client.sendall(sent)
        return client


@contextmanager
def running(app: ASGIApp, bounds: ConnectionLimits) -> Iterator[Connect]:
    """Serve an application."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(server_config(app, bounds))
        thread = Thread(target=server.run, args=([listener],))
        connect = Connect(listener.getsockname(), server.server_state)
        thread.start()
        try:
            yield connect
        finally:
            for client in connect.clients:
                client.close()
            server.should_exit = True
            thread.join()


@pytest.fixture
def page(trained: Path) -> ASGIApp:
    return application(trained, Access(TOKEN))


def rest_of(client: socket.socket) -> bytes:
    """What arrives until the server ends the connection."""
    received = b""
    try:
        while chunk := client.recv(65536):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def test_a_client_that_says_nothing_is_cut_off(page: ASGIApp) -> None:
    with running(page, limits(request=SHORT)) as connect:
        assert rest_of(connect()) == b""


@pytest.mark.parametrize(
    "begun",
    [
        b"GET / HTTP/1.1\r\n" + KEY,
        b"GET / HTTP/1.1\r\nHost: 127",
        b"POST /new HTTP/1.1\r\n" + KEY + ORIGIN + b"Content-Length: 1000\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + KEY + b"Content-Length: 1000\r\n\r\n",
        b"POST /new HTTP/1.1\r\n" + KEY + ORIGIN + b"Transfer-Encoding: chunked\r\n\r\n3e8\r\n",
        b"POST /new HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
    ],
    ids=["headers", "line", "body", "login", "chunk", "refused"],
)
def test_a_client_that_sends_bit_by_bit_is_cut_off(
    page: ASGIApp, begun: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(page, limits(request=0.2)) as connect:
        client = connect(begun)
        ended = Event()

        def drip() -> None:
            # As slowly as it may without being silent: never for as long as the bound.
            while not ended.wait(0.02):
                try:
                    client.sendall(b"x")
                except OSError:
                    return

        dripping = Thread(target=drip)
        dripping.start()
        received = rest_of(client)
        ended.set()
        dripping.join()
        # A refusal comes at once, and the rest of the body is awaited no longer than of others.
        assert received == b"" or received.startswith(b"HTTP/1.1 421")
    assert "Traceback" not in capfd.readouterr().err


def test_a_silent_connection_between_two_requests_is_closed(page: ASGIApp) -> None:
    with running(page, limits(idle=SHORT)) as connect:
        received = rest_of(connect(b"GET /assets/icon.svg HTTP/1.1\r\n" + KEY + b"\r\n"))
        assert received.startswith(b"HTTP/1.1 200")
        assert received.endswith(b"</svg>\n")


def test_many_requests_on_one_connection_are_answered(page: ASGIApp) -> None:
    asset = b"GET /assets/icon.svg HTTP/1.1\r\n" + KEY
    with running(page, limits()) as connect:
        client = connect(asset + b"\r\n" + asset + b"\r\n")
        client.sendall(asset + b"Connection: close\r\n\r\n")
        assert rest_of(client).count(b"HTTP/1.1 200") == 3


@pytest.fixture
def endless() -> tuple[ASGIApp, Event]:
    """An application with an answer that is more than any buffer takes, and the sign of its end."""
    ended = Event()

    async def chunks() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 65536
                # A server lets an application that never waits go on for ever.
                await asyncio.sleep(0)
        finally:
            ended.set()

    async def answer(request: Request) -> Response:
        return StreamingResponse(chunks())

    return Starlette(routes=[Route("/", answer)]), ended


@pytest.mark.parametrize("drips", [0, 1], ids=["never", "byte by byte"])
def test_a_client_that_does_not_read_is_cut_off(endless: tuple[ASGIApp, Event], drips: int) -> None:
    app, ended = endless
    with running(app, limits(unread=0.2)) as connect:
        client = connect(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", room=4096)
        while not ended.wait(0.02):
            client.recv(drips)


def test_what_is_left_of_an_answer_is_not_kept_for_ever() -> None:
    whole = Starlette(routes=[Route("/", lambda request: Response(b"x" * 30_000_000))])
    asking = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with running(whole, limits(unread=SHORT)) as connect:
        connect(asking, room=4096)
        until(lambda: connect.served.total_requests == 1)
        until(lambda: not connect.served.connections)


def test_an_event_stream_that_is_never_read_ends(trained: Path) -> None:
    app = application(trained, Access(TOKEN), stream=SHORT)
    with running(app, limits(idle=SHORT)) as connect:
        client = connect(b"GET /runs/searchqa/a/live HTTP/1.1\r\n" + KEY + b"\r\n")
        until(lambda: connect.served.total_requests == 1)
        until(lambda: not connect.served.connections)
        received = rest_of(client)
        # It ends as an answer does, so that browsers open the next one.
        assert b"event: changed" in received and received.endswith(b"0\r\n\r\n")


def test_the_pages_of_the_docs_name_the_bounds() -> None:
    for page in ("how-to/web-page.md", "explanation/security.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        assert f"after {LIMITS.request:g} seconds" in text and LIMITS.request == LIMITS.unread
        assert f"{LIMITS.most} connections" in text


def test_only_so_many_connections_are_open_at_once(page: ASGIApp) -> None:
    asset = b"GET /assets/icon.svg HTTP/1.1\r\n" + KEY + b"Connection: close\r\n\r\n"
    with running(page, limits(most=3)) as connect:
        silent = [connect() for _ in range(3)]
        assert rest_of(connect(asset)).startswith(b"HTTP/1.1 503")
        silent[0].close()
        until(lambda: len(connect.served.connections) == 2)
        assert rest_of(connect(asset)).startswith(b"HTTP/1.1 200")
