"""What to open in a browser."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlencode

from skillopt_cli.web.security import PARAMETER, Access

_FAR = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses of nobody, set aside for examples."""


def addresses(access: Access, bound: str) -> tuple[str, ...]:
    """The page's addresses: the first for this machine, others for other machines alone.

    Args:
        bound: where the server listens, in digits. All addresses of a machine at once, such as
            0.0.0.0, are none that a browser could open.
    """
    if not ip_address(bound).is_unspecified:
        return (address(access, access.host),)
    four = ip_address(bound).version == 4
    here = "127.0.0.1" if four else "::1"
    outward = _outward(socket.AF_INET if four else socket.AF_INET6)
    return tuple(address(access, host) for host in (here, *outward))


def address(access: Access, host: str) -> str:
    """The address of the page on a host, with the token that lets in."""
    name = f"[{host}]" if ":" in host else host
    token = f"/?{urlencode({PARAMETER: access.token})}" if access.token else ""
    return f"http://{name}:{access.port}{token}"


def _outward(family: socket.AddressFamily) -> Iterator[str]:
    """The address that this machine has for others, where it has one. Nothing is sent."""
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asked:
        asked.connect((_FAR[family], 9))
        found = ip_address(asked.getsockname()[0])
        if not (found.is_loopback or found.is_link_local):
            yield str(found)
