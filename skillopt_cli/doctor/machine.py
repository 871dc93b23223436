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
from skillopt_cli.compose.trackers import ready
from skillopt_cli.config import RunConfig
from skillopt_cli.config.connection import client_arguments, connection_to, is_here
from skillopt_cli.core.errors import BackendUnusable, ConfigError, NetworkFailed, UsageError
from skillopt_cli.doctor.check import Check, failing, passed, warning
from skillopt_cli.plugins import (
    BACKENDS,
    BENCHMARKS,
    TRACKERS,
    load_backend,
    load_benchmark,
    load_tracker,
    names,
)
from skillopt_cli.trackers.specs import unreachable

OLDEST = (3, 11)
DISTRIBUTION = "skillopt-cli"
CONNECT_SECONDS = 2.0
NARROWEST = 60
_PORTS = {"http": 80, "https": 443}


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
        yield failing("python", error, f"install Python {wanted} or newer, and skillopt there")
    else:
        yield passed("python", f"{text} ({platform.python_implementation()}, {sys.executable})")


def check_package() -> Iterator[Check]:
    """The installed distribution is the code that runs."""
    place = Path(skillopt_cli.__file__).parent
    reinstall = f"pip install --force-reinstall {DISTRIBUTION}"
    try:
        installed = version(DISTRIBUTION)
    except PackageNotFoundError:
        installed = ""
    if installed == skillopt_cli.__version__:
        yield passed("package", f"{DISTRIBUTION} {installed} ({place})")
    elif installed:
        what = f"{place} is version {skillopt_cli.__version__}, installed is {installed}"
        yield warning("package", what, reinstall)
    else:
        error = UsageError(f"{DISTRIBUTION} is not installed, so {place} finds no plug-in")
        yield failing("package", error, reinstall)


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
                yield warning("plug-ins", error.message, error.hint)
    if not broken:
        listed = [f"{len(names(group))} {group.rpartition('.')[2]}" for group, _ in kinds]
        yield passed("plug-ins", ", ".join(listed))


def check_trackers(config: RunConfig, environment: Mapping[str, str]) -> Iterator[Check]:
    """Each tracker that is chosen has its packages, and its server answers if one is named."""
    for name in config.run.trackers:
        try:
            spec = ready(name)
        except ConfigError as error:
            yield failing("tracker", error)
            continue
        server = spec.server(environment)
        lost = unreachable(server, environment) if server else None
        yield (
            warning("tracker", lost.message, lost.hint) if lost else passed("tracker", spec.summary)
        )


def check_terminal(terminal: Terminal) -> Iterator[Check]:
    """The display has room, and every character can be printed."""
    if terminal.width is None:
        yield passed("terminal", "none: a run is shown in plain lines")
    elif terminal.width < NARROWEST:
        what = f"{terminal.width} columns, of which the live panel wants {NARROWEST}"
        yield warning("terminal", what, "widen it, or add `run.display=plain`")
    else:
        colours = "colours" if terminal.colour else "no colours"
        yield passed("terminal", f"{terminal.width} columns, {colours}")
    if _is_utf8(terminal.encoding) and _is_utf8(terminal.locale):
        yield passed("encoding", "UTF-8")
    elif _is_utf8(terminal.encoding):
        what = f"the locale asks for {terminal.locale}, so other programs may garble texts"
        yield warning("encoding", what, "export LANG=C.UTF-8")
    else:
        what = f"{terminal.encoding} cannot show every character of a text"
        yield warning("encoding", what, "export LANG=C.UTF-8 PYTHONIOENCODING=utf-8")


def check_azure_cli(environment: Mapping[str, str]) -> Iterator[Check]:
    """The program that signs in to Azure is there."""
    found = shutil.which("az", path=environment.get("PATH", ""))
    if found:
        yield passed("az", found)
    else:
        error = BackendUnusable("auth_mode is azure_cli, but the program `az` is not on the PATH")
        yield failing(
            "az",
            error,
            "install the Azure CLI and run `az login`, or add `model.auth_mode=api_key`",
        )


async def check_address(url: str, environment: Mapping[str, str]) -> list[Check]:
    """Something listens at an address, or at the proxy on the way to it. Nothing is sent."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or _PORTS.get(parts.scheme, 443)
    try:
        client_arguments(url, environment)
        way = connection_to(url, environment)
    except ConfigError as error:
        return [failing("address", error)]
    if way.proxy:
        via = urlsplit(way.proxy)
        asked, at = via.hostname or "", via.port or _PORTS[via.scheme]
        told = f"{host}:{port} by way of the proxy {asked}:{at}"
        fix = way.proxy_hint
    else:
        asked, at, told = host, port, f"{host}:{port}"
        fix = (
            f"start the model server on port {port}, or name another with `model.base_url=URL`"
            if is_here(host)
            else "check the network and the address, `model.base_url=URL`"
        )
    reason = await _refusal(asked, at)
    if reason:
        return [failing("address", NetworkFailed(f"{told} cannot be reached: {reason}"), fix)]
    return [passed("address", f"{told} can be reached")]


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


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"
