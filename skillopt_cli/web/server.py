"""Serves the web application until Ctrl-C."""

from __future__ import annotations

import errno
import gc
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from threading import Event
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from skillopt_cli.core.errors import UsageError
from skillopt_cli.web.app import application
from skillopt_cli.web.connections import LIMITS, ConnectionLimits, bounded_protocol
from skillopt_cli.web.security import CODE, LOGIN, Access
from skillopt_cli.web.token import login_file

COLLECT_EACH = 100_000
"""Allocations between two garbage collections: each would delay a page when long runs are in
memory, and their views have no reference cycles."""
SHUTDOWN_SECONDS = 2
"""Seconds for responses in progress when the server stops."""
_EXAMPLES = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses reserved for documentation."""


def serve(
    root: Path,
    access: Access,
    on_start: Callable[[Sequence[str], Path | None], None],
    on_opened: Callable[[Sequence[str]], None],
) -> None:
    """Serve the runs below `root` until a signal stops the process.

    Args:
        on_start: receives the page's links once the server accepts requests: first the one for this
            machine, then those for other machines; and the login file, None without a token.
        on_opened: receives the next links when one of them was used.

    Raises:
        UsageError: the host or port cannot be used, or the login file cannot be kept.
    """
    gc.set_threshold(COLLECT_EACH)
    with _bound(access) as listener, ExitStack() as login:
        bound, port = listener.getsockname()[:2]
        access = replace(access, port=port)
        file = None
        if access.token:
            here = _addresses(access, bound)[0]
            file = login.enter_context(login_file(here, access.token))

        def opened() -> None:
            # Nobody may read what this process prints any more, and the page goes on.
            with suppress(OSError):
                on_opened(links(access, bound))

        def started() -> None:
            on_start(links(access, bound), file)

        app = application(root, access, opened)
        # Ctrl-C is the regular end; uvicorn raises the signal again afterwards.
        with suppress(KeyboardInterrupt):
            server = _Server(server_config(app), app.state.stopping, started, login.close)
            server.run(sockets=[listener])


def server_config(app: ASGIApp, limits: ConnectionLimits = LIMITS) -> uvicorn.Config:
    """The settings of the HTTP server."""
    return uvicorn.Config(
        app,
        http=bounded_protocol(limits),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        # Access control uses the request itself, which no proxy may rewrite.
        proxy_headers=False,
        timeout_keep_alive=limits.idle,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


def links(access: Access, bound: str) -> tuple[str, ...]:
    """The links that open one browser: first for this machine, then for other machines.

    Args:
        bound: the IP address that the server listens on. An unspecified one, such as 0.0.0.0, is
            replaced by addresses that a browser can open.
    """
    code = f"{LOGIN}?{CODE}={access.link.value}" if access.token else ""
    return tuple(f"{address}{code}" for address in _addresses(access, bound))


def _addresses(access: Access, bound: str) -> tuple[str, ...]:
    if not ip_address(bound).is_unspecified:
        return (_address(access, access.host),)
    four = ip_address(bound).version == 4
    here = "127.0.0.1" if four else "::1"
    outward = _outward(socket.AF_INET if four else socket.AF_INET6)
    return tuple(_address(access, host) for host in (here, *outward))


def _address(access: Access, host: str) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{access.port}"


def _outward(family: socket.AddressFamily) -> Iterator[str]:
    """The address under which other machines reach this one, if any. Sends nothing."""
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((_EXAMPLES[family], 9))
        found = ip_address(probe.getsockname()[0])
        if not (found.is_loopback or found.is_link_local):
            yield str(found)


class _Server(uvicorn.Server):
    """A server that ends open streams on a signal; they would prevent its shutdown.

    Args:
        started: called when requests are accepted and signals are handled.
        stopped: called before a signal can end the process.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        stopping: Event,
        started: Callable[[], None],
        stopped: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._started = started
        self._stopped = stopped

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server."""
        await super().startup(sockets)
        self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the server."""
        self._stopped()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Also take the end of the terminal for one, unless `nohup` has it ignored."""
        with super().capture_signals():
            former = signal.getsignal(signal.SIGHUP)
            if former is not signal.SIG_IGN:
                signal.signal(signal.SIGHUP, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(signal.SIGHUP, former)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop on a signal."""
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
        # From here on connections wait instead of being refused.
        listener.listen()
    except OSError as error:
        listener.close()
        raise _nowhere(access, error) from error
    return listener


def _nowhere(access: Access, error: OSError) -> UsageError:
    taken = error.errno == errno.EADDRINUSE
    hint = "choose another port with --port" if taken else "check --host and --port"
    return UsageError(f"cannot listen on {access.host}:{access.port}: {error.strerror}", hint)
