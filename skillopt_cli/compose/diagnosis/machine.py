"""Checks of the machine: Python, the package, the terminal, and the ways to model servers."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

import skillopt_cli
from skillopt_cli.compose.diagnosis.check import Check, fine, odd, wrong
from skillopt_cli.compose.tracking import ready
from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import BackendUnusable, ConfigError, NetworkFailed, UsageError
from skillopt_cli.plugins import (
    BACKENDS,
    BENCHMARKS,
    TRACKERS,
    load_backend,
    load_benchmark,
    load_tracker,
    names,
)
from skillopt_cli.trackers.reach import unreached

OLDEST = (3, 11)
DISTRIBUTION = "skillopt-cli"
CONNECT_SECONDS = 2.0
NARROWEST = 60
_PORTS = {"http": 80, "https": 443}
_HERE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where results are printed.

    Attributes:
        width: in columns; None where there is no terminal.
        encoding: of standard output.
        locale: encoding that the locale asks for.
    """

    width: int | None
    colour: bool
    encoding: str
    locale: str


def check_python(found: tuple[int, ...] = sys.version_info[:3]) -> Iterator[Check]:
    """The interpreter is one the package is made for."""
    text = ".".join(map(str, found))
    if found < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        error = UsageError(f"Python {text} is older than {wanted}")
        yield wrong("python", error, f"install Python {wanted} or newer, and skillopt there")
    else:
        yield fine("python", f"{text} ({platform.python_implementation()}, {sys.executable})")


def check_package() -> Iterator[Check]:
    """The installed distribution is the code that runs."""
    place = Path(skillopt_cli.__file__).parent
    reinstall = f"pip install --force-reinstall {DISTRIBUTION}"
    try:
        installed = version(DISTRIBUTION)
    except PackageNotFoundError:
        installed = ""
    if installed == skillopt_cli.__version__:
        yield fine("package", f"{DISTRIBUTION} {installed} ({place})")
    elif installed:
        what = f"{place} is version {skillopt_cli.__version__}, installed is {installed}"
        yield odd("package", what, reinstall)
    else:
        error = UsageError(f"{DISTRIBUTION} is not installed, so {place} finds no plug-in")
        yield wrong("package", error, reinstall)


def check_plugins() -> Iterator[Check]:
    """Everything that is offered can be loaded. Each broken plug-in is a row."""
    broken = 0
    kinds = ((BACKENDS, load_backend), (BENCHMARKS, load_benchmark), (TRACKERS, load_tracker))
    for group, load in kinds:
        for name in names(group):
            try:
                load(name)
            except ConfigError as error:
                broken += 1
                yield odd("plug-ins", error.message, error.hint)
    if not broken:
        listed = [f"{len(names(group))} {group.rpartition('.')[2]}" for group, _ in kinds]
        yield fine("plug-ins", ", ".join(listed))


def check_trackers(config: RunConfig, environment: Mapping[str, str]) -> Iterator[Check]:
    """Each tracker that is chosen has its packages, and its server answers if one is named."""
    for name in config.run.trackers:
        try:
            spec = ready(name)
        except ConfigError as error:
            yield wrong("tracker", error)
            continue
        server = spec.server(environment)
        lost = unreached(server) if server else None
        yield odd("tracker", lost.message, lost.hint) if lost else fine("tracker", spec.summary)


def check_terminal(terminal: Terminal) -> Iterator[Check]:
    """The display has room, and every character can be printed."""
    if terminal.width is None:
        yield fine("terminal", "none: a run is shown in plain lines")
    elif terminal.width < NARROWEST:
        what = f"{terminal.width} columns, of which the live panel wants {NARROWEST}"
        yield odd("terminal", what, "widen it, or add `run.display=plain`")
    else:
        colours = "colours" if terminal.colour else "no colours"
        yield fine("terminal", f"{terminal.width} columns, {colours}")
    if _is_utf8(terminal.encoding) and _is_utf8(terminal.locale):
        yield fine("encoding", "UTF-8")
    elif _is_utf8(terminal.encoding):
        what = f"the locale asks for {terminal.locale}, so other programs may garble texts"
        yield odd("encoding", what, "export LANG=C.UTF-8")
    else:
        what = f"{terminal.encoding} cannot show every character of a text"
        yield odd("encoding", what, "export LANG=C.UTF-8 PYTHONIOENCODING=utf-8")


def check_azure_cli(environment: Mapping[str, str]) -> Iterator[Check]:
    """The program that signs in to Azure is there."""
    found = shutil.which("az", path=environment.get("PATH", ""))
    if found:
        yield fine("az", found)
    else:
        error = BackendUnusable("auth_mode is azure_cli, but the program `az` is not on the PATH")
        yield wrong(
            "az",
            error,
            "install the Azure CLI and run `az login`, or add `model.auth_mode=api_key`",
        )


async def check_address(url: str, environment: Mapping[str, str]) -> list[Check]:
    """Something listens at an address, or at the proxy on the way to it. Nothing is sent."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or _PORTS.get(parts.scheme, 443)
    proxy = _proxy(parts.scheme, host, environment)
    if proxy:
        via = urlsplit(proxy if "//" in proxy else f"//{proxy}")
        asked, at = via.hostname or "", via.port or 80
        told = f"{host}:{port} by way of the proxy {asked}:{at}"
        fix = "check the proxy, or name the host in NO_PROXY"
    else:
        asked, at, told = host, port, f"{host}:{port}"
        fix = (
            f"start the model server on port {port}, or name another with `model.base_url=URL`"
            if host in _HERE
            else "check the network and the address, `model.base_url=URL`"
        )
    reason = await _refusal(asked, at)
    if reason:
        return [wrong("address", NetworkFailed(f"{told} cannot be reached: {reason}"), fix)]
    return [fine("address", f"{told} can be reached")]


async def _refusal(host: str, port: int) -> str:
    """Why no connection can be made; "" when one can."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"no answer within {CONNECT_SECONDS:g} s"
    except socket.gaierror as error:
        return (error.strerror or "the name is not known").lower()
    except OSError as error:
        # Of several addresses tried, one error that lists them all comes without a number.
        return os.strerror(error.errno).lower() if error.errno else "no address answers"
    writer.close()
    return ""


def _proxy(scheme: str, host: str, environment: Mapping[str, str]) -> str:
    """The proxy that HTTP clients will use for a host, as they read the environment."""
    spared = environment.get("no_proxy") or environment.get("NO_PROXY", "")
    for entry in (entry.strip().lstrip(".").lower() for entry in spared.split(",")):
        if entry and (entry in ("*", host) or host.endswith(f".{entry}")):
            return ""
    named = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    return next((environment[name] for name in named if environment.get(name)), "")


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"
