"""Connections with bounds: slow clients are cut off, and only so many are open at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_TEXT = b"Too many connections are open.\r\n"
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_TEXT), _TEXT)
)
Turn = Literal["request", "unread", ""]
"""What the client has to do next; nothing while it waits for us."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How long clients may take, in seconds.

    Attributes:
        most: connections at once; any more are refused.
        request: to send a request, headers and body, from the connection or the last answer on.
        idle: between an answer and the first byte of the next request.
        unread: to read on, when more of an answer was sent than fits into the buffers, and to read
            the rest of it when the connection is to be closed.
        stream: to follow a page by one event stream; browsers open the next one by themselves.
    """

    most: int = 200
    request: float = 20.0
    idle: int = 5
    unread: float = 20.0
    stream: float = 600.0


LIMITS = ConnectionLimits()
"""Limits of the page."""


def bounded_protocol(limits: ConnectionLimits) -> type[H11Protocol]:
    """The HTTP protocol of a server with these limits."""
    return type("BoundedProtocol", (_BoundedProtocol,), {"limits": limits})


class _BoundedProtocol(H11Protocol):
    """Cuts a connection off whose client does not do its part in time.

    The server's own timeout covers only silence between two requests.
    """

    limits: ConnectionLimits
    _timed: Turn = ""
    _cut: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type] # as theirs
        if len(self.connections) > self.limits.most:
            self.transport.write(_BUSY)
            self.transport.close()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._cut is not None:
            self._cut.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the clock when it is the client's turn, and stop it when it is ours."""
        turn = self._turn()
        if turn == self._timed:
            return
        if self._cut is not None:
            self._cut.cancel()
        self._timed, self._cut = turn, None
        if turn:
            patience = self.limits.unread if turn == "unread" else self.limits.request
            self._cut = self.loop.call_later(patience, self.transport.abort)

    def _turn(self) -> Turn:
        if self.transport.is_closing() or self.flow.write_paused:
            return "unread"
        return "request" if self.conn.their_state in (h11.IDLE, h11.SEND_BODY) else ""
