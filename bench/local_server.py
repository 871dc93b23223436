"""The model server of the benches: a process of its own on the loopback."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Protocol


@dataclass(frozen=True)
class Answer:
    """What is sent back: a document as JSON."""

    document: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Service(Protocol):
    """Answers requests. One is made in the server's process, within its event loop."""

    async def answer(self, path: str, body: bytes) -> Answer:
        """Answer a request after as long as it takes."""


@contextmanager
def serving(service: Callable[..., Service], *arguments: Any) -> Iterator[str]:
    """The address of a server that runs while the block lasts.

    Args:
        service: makes the service; it and its arguments are pickled.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, service, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.kill()
        process.join()


def _run(port: Connection, service: Callable[..., Service], arguments: tuple[Any, ...]) -> None:
    asyncio.run(_serve(port, service, arguments))


async def _serve(
    port: Connection, service: Callable[..., Service], arguments: tuple[Any, ...]
) -> None:
    made = service(*arguments)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.split(b"\r\n")
                fields = (line.lower().partition(b":") for line in lines)
                sizes = (int(value) for name, _, value in fields if name == b"content-length")
                body = await reader.readexactly(next(sizes, 0))
                writer.write(_encoded(await made.answer(first.split()[1].decode(), body)))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024)
    port.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _encoded(answer: Answer) -> bytes:
    text = json.dumps(answer.document).encode()
    headers = {
        "content-type": "application/json",
        "content-length": len(text),
        **answer.headers,
    }
    lines = [f"HTTP/1.1 {answer.status} Answer", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + text
