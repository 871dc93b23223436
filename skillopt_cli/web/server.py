"""Serving the page until Ctrl-C."""

from __future__ import annotations

import errno
import gc
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event
from types import FrameType

import uvicorn

from skillopt_cli.core.errors import UsageError
from skillopt_cli.web.addresses import addresses
from skillopt_cli.web.app import application
from skillopt_cli.web.security import Access

_COLLECT_EACH = 100_000
"""Objects made between two looks for rings of them: each look at long runs would hold up a page,
and what is folded has no rings."""
PARTING = 2
"""Seconds that pages which are open have for an answer under way when the server stops."""


def serve(root: Path, access: Access, say: Callable[[Sequence[str]], None]) -> None:
    """Serve the runs below `root` until the process is told to stop.

    Args:
        say: hears the page's addresses once somebody can open them: that for this machine, and
            what only other machines need.

    Raises:
        UsageError: nobody can listen there.
    """
    gc.set_threshold(_COLLECT_EACH)
    with _bound(access) as listener:
        bound, port = listener.getsockname()[:2]
        access = Access(access.host, port, access.token)
        app = application(root, access)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            # Addresses are judged as they come; nobody in between may speak for a browser.
            proxy_headers=False,
            timeout_graceful_shutdown=PARTING,
        )
        # Ctrl-C is how it is meant to end: a signal that is passed on afterwards is no fault.
        with suppress(KeyboardInterrupt):
            told = partial(say, addresses(access, bound))
            _Server(config, app.state.stopping, told).run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that tells open streams when it is to stop; they would keep it from stopping."""

    def __init__(
        self, config: uvicorn.Config, stopping: Event, started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so: from here on signals are heard."""
        await super().startup(sockets)
        self._started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, on a signal."""
        self._stopping.set()
        super().handle_exit(sig, frame)


def _bound(access: Access) -> socket.socket:
    try:
        family, kind, proto, _, place = socket.getaddrinfo(
            access.host, access.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
    except OSError as error:
        raise _nowhere(access, error) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(place)
        # From here on a browser waits for its answer instead of being refused.
        listener.listen()
    except OSError as error:
        listener.close()
        raise _nowhere(access, error) from error
    return listener


def _nowhere(access: Access, error: OSError) -> UsageError:
    taken = error.errno == errno.EADDRINUSE
    hint = "choose another port with --port" if taken else "check --host and --port"
    return UsageError(f"cannot listen on {access.host}:{access.port}: {error.strerror}", hint)
