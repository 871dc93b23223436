"""How the environment has HTTP connections made: which proxy, which certificates.

The libraries would read the same variables, but name none of them when one cannot be used. An
address on this machine needs no proxy.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from skillopt_cli.core.errors import ConfigError

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_OF_OTHERS = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_PROXIES = tuple(f"{scheme}_proxy" for scheme in ("http", "https", "all", "no"))
CONNECTING = frozenset((*_CERTIFICATES, *_OF_OTHERS, *_PROXIES, *map(str.upper, _PROXIES)))
"""The variables that say how connections are made."""
_SPARE = "unset it, or name the host in NO_PROXY"


@dataclass(frozen=True, slots=True)
class Connection:
    """How an address is reached.

    Attributes:
        proxy: its URL; it may hold a password. "" for none.
        proxy_from: the variable that names it.
        certificates_from: the variable that names the trusted authorities; "" for the system's.
        unread: a variable that names them for other programs, and is set; "" for none.
    """

    proxy: str = field(default="", repr=False)
    proxy_from: str = ""
    certificates_from: str = ""
    unread: str = ""

    @property
    def proxy_hint(self) -> str:
        """What to do where the proxy is at fault; "" without one."""
        return f"correct {self.proxy_from}, {_SPARE}" if self.proxy else ""

    @property
    def certificate_hint(self) -> str:
        """What to do where a certificate cannot be verified."""
        if self.certificates_from:
            return (
                f"{self.certificates_from} is set: it must name the authority that signed it, or be"
                " unset"
            )
        named = f", as {self.unread} does for other programs" if self.unread else ""
        return f"name the file of the authority that signed it in SSL_CERT_FILE{named}"


def connection_to(url: str, environment: Mapping[str, str]) -> Connection:
    """Return how an http or https address is reached.

    Raises:
        ConfigError: a variable names a proxy that cannot be used.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return Connection()  # the caller reports that this is no address
    proxy_from = _proxy_variable(parts.scheme, host, port, environment)
    set_here = [name for name in _CERTIFICATES if environment.get(name)]
    others = [name for name in _OF_OTHERS if environment.get(name)]
    return Connection(
        _usable_proxy(proxy_from, environment[proxy_from]) if proxy_from else "",
        proxy_from,
        set_here[0] if set_here else "",
        others[0] if others else "",
    )


def client_arguments(url: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what an HTTPX client needs for calls to `url`, so that it reads no variable itself.

    Raises:
        ConfigError: a variable names a proxy or certificates that cannot be used.
    """
    proxy = connection_to(url, environment).proxy
    trusted = _authorities(environment) if url.startswith("https:") else None
    return {"proxy": proxy or None, "trust_env": False, "verify": trusted or _of_the_system()}


def sparing_this_machine(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of another program, by which it calls this machine without a proxy."""
    spared = environment.get("no_proxy") or environment.get("NO_PROXY")
    value = ",".join([*([spared] if spared else []), "localhost", "127.0.0.1", "::1"])
    return {**environment, "NO_PROXY": value, "no_proxy": value}


def is_here(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def _proxy_variable(
    scheme: str, host: str, port: int | None, environment: Mapping[str, str]
) -> str:
    """The variable that names the proxy for a host; "" where there is none."""
    spared = environment.get("no_proxy") or environment.get("NO_PROXY", "")
    host, port = host.rstrip("."), port or {"http": 80, "https": 443}.get(scheme)
    if is_here(host) or any(_matches(e, host, port) for e in re.split(r"[,\s]+", spared)):
        return ""
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    return next((name for name in names if environment.get(name, "").strip()), "")


def _matches(entry: str, host: str, port: int | None) -> bool:
    """Whether an entry of NO_PROXY covers a host.

    It is a name or the end of one, a network, or a pattern with `*`; some write an address.
    """
    entry = re.sub(r"\A\w+://|/\Z", "", entry.strip().lower())
    try:
        return ip_address(host) in ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        pass
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdigit():
        if port != int(wanted):
            return False
        entry = name
    entry = entry.removeprefix("*.").strip(".").strip("[]")
    return bool(entry) and (host.endswith(f".{entry}") or fnmatchcase(host, entry))


def _usable_proxy(variable: str, given: str) -> str:
    """The URL of a proxy; one without a scheme is an http one."""
    url = given.strip()
    url = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(url)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    shown = f"{variable} names a proxy that"
    if good and parts.scheme.startswith("socks"):
        raise ConfigError(
            f"{shown} speaks {parts.scheme}, and only http and https proxies can be used",
            f"name an http proxy in {variable}, {_SPARE}",
        )
    if not good or parts.scheme not in ("http", "https"):
        raise ConfigError(
            f"{shown} is no address",
            f"write {variable} like http://proxy.example:3128, {_SPARE}",
        )
    return url


@cache
def _of_the_system() -> ssl.SSLContext:
    """The trust in the authorities of the system, shared: reading them takes a client's time."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)


def _authorities(environment: Mapping[str, str]) -> ssl.SSLContext | None:
    """The trust in the authorities that a variable names; None where the system's count."""
    name = next((name for name in _CERTIFICATES if environment.get(name)), "")
    if not name:
        return None
    path = environment[name]
    hint = f"correct {name}, or unset it to trust the authorities of this system"
    wanted = "folder" if name == "SSL_CERT_DIR" else "file"
    found = [Path(one) for one in (path.split(":") if wanted == "folder" else [path])]
    if not any(one.is_dir() if wanted == "folder" else one.is_file() for one in found):
        raise ConfigError(f"{name} names {path}, and there is no such {wanted}", hint)
    try:
        if wanted == "folder":
            return ssl.create_default_context(capath=path)
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        raise ConfigError(f"{name} names {path}, which holds no certificate", hint) from None
    except OSError as error:
        raise ConfigError(f"{name} names {path}: {error.strerror or error}", hint) from None
