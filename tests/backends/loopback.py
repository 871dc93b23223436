"""A raw HTTP/1.1 server on the loopback that plays a script and keeps exactly what it was sent."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

Fault = Literal["", "reset", "half", "trickle", "hang"]


@dataclass(frozen=True)
class Answer:
    """What the server does with one request.

    Attributes:
        body: a JSON value, or a text or bytes to be sent as they are.
        fault: `reset` tears the connection down before any byte, `half` closes it in the middle of
            the body, `trickle` sends the body byte by byte and never ends it, `hang` says nothing.
    """

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: Fault = ""


@dataclass(frozen=True)
class Seen:
    """A request as it came.

    Attributes:
        path: with the query.
        headers: names in lower case.
        body: the decoded JSON; the text where it is none, None where there is none.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


Responder = Callable[[Seen], Answer | Awaitable[Answer]]


class Loopback:
    """A running server.

    Attributes:
        url: its root, without a slash at the end.
        seen: the requests so far, in the order of their arrival.
        otherwise: what happens once the script is empty: an answer, or what makes one.
    """

    def __init__(self, otherwise: Answer | Responder) -> None:
        self.url = ""
        self.seen: list[Seen] = []
        self.otherwise = self._first = otherwise
        self._script: deque[Answer] = deque()
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def bodies(self) -> list[Any]:
        return [seen.body for seen in self.seen]

    def script(self, *answers: Answer) -> None:
        """Queue what happens to the next requests, one answer each."""
        self._script.extend(answers)

    def clear(self) -> None:
        """Be as new, so that tests can share a server."""
        self.otherwise = self._first
        self.seen.clear()
        self._script.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection stays open for another."""
        seen = await _read(reader)
        self.seen.append(seen)
        answer = self._script.popleft() if self._script else self.otherwise
        if not isinstance(answer, Answer):
            made = answer(seen)
            answer = made if isinstance(made, Answer) else await made
        return await _play(answer, reader, writer)

    def drop(self) -> None:
        for writer in self._open:
            writer.transport.abort()


async def _read(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.split(":", 1) for line in lines if line)
    headers = {name.lower(): value.strip() for name, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, path, headers, _decoded(raw))


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return raw.decode(errors="replace")


async def _play(answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    if answer.fault == "hang":
        # Until the other side gives up.
        await reader.read()
        return False
    if answer.fault == "reset":
        # Without lingering, closing sends RST instead of FIN.
        channel = writer.get_extra_info("socket")
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False
    raw = answer.body if isinstance(answer.body, bytes) else _encoded(answer.body)
    promised = len(raw) + 10**6 if answer.fault == "trickle" else len(raw)
    headers = {"content-type": "application/json", **answer.headers, "content-length": promised}
    lines = [f"HTTP/1.1 {answer.status} Scripted", *(f"{k}: {v}" for k, v in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    if answer.fault == "trickle":
        while not writer.is_closing():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)
        return False
    writer.write(raw[: len(raw) // 2] if answer.fault == "half" else raw)
    await writer.drain()
    return not answer.fault


def _encoded(body: Any) -> bytes:
    return (body if isinstance(body, str) else json.dumps(body)).encode()


@asynccontextmanager
async def loopback(otherwise: Answer | Responder | None = None) -> AsyncIterator[Loopback]:
    """A server for the length of the block, in this event loop."""
    server = Loopback(otherwise or Answer(500, {"error": {"message": "the script is empty"}}))
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()
        server.drop()
        await listening.wait_closed()
