"""A small HTTP server on h11: one answer per request, over any pair of streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import h11

_PIECE = 65536
LONGEST_BODY = 64_000_000
"""Bytes of a request's body; a longer one ends its connection."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request, with lower-case header names and `path` without the query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response."""

    status: int
    body: str = ""
    media_type: str = "application/json"


Respond = Callable[[HttpRequest], Awaitable[HttpResponse]]


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, respond: Respond
) -> None:
    """Answer the requests of a connection, then close it."""
    connection = h11.Connection(h11.SERVER)
    try:
        # A client that sends no HTTP, or disconnects, is not an error.
        with suppress(h11.RemoteProtocolError, h11.LocalProtocolError, ConnectionError):
            while (request := await _receive(connection, reader, writer)) is not None:
                await _send(connection, writer, await respond(request), request.method)
                if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                    break
                connection.start_next_cycle()
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _receive(
    connection: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> HttpRequest | None:
    """Return the next complete request; None if there is none."""
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if connection.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                writer.write(connection.send(go_on) or b"")
            connection.receive_data(await reader.read(_PIECE))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > LONGEST_BODY:
                return None
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            headers = {
                name.decode().lower(): value.decode("latin-1") for name, value in head.headers
            }
            path = head.target.decode("latin-1").split("?")[0]
            return HttpRequest(head.method.decode(), path, headers, body.decode(errors="replace"))
        else:
            return None


async def _send(
    connection: h11.Connection, writer: asyncio.StreamWriter, answer: HttpResponse, method: str
) -> None:
    body = answer.body.encode(errors="backslashreplace")
    headers = [("content-type", answer.media_type), ("content-length", str(len(body)))]
    events: list[h11.Event] = [h11.Response(status_code=answer.status, headers=headers)]
    if method != "HEAD":
        events.append(h11.Data(data=body))
    for event in (*events, h11.EndOfMessage()):
        writer.write(connection.send(event) or b"")
    await writer.drain()
