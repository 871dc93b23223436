"""The hosts to which a key usually goes: those of its own provider."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import get_args
from urllib.parse import urlsplit

from skillopt_cli.config.connection import is_here
from skillopt_cli.core.events import Role
from skillopt_cli.plugins import sound_backends
from skillopt_cli.ports import BackendSpec


def is_usual(url: str, variable: str, spec: BackendSpec, *, of_project: bool) -> bool:
    """Whether a key usually goes to an address; without a key, whether the backend calls it.

    A server of this machine may be another user's, so of the user's keys only those for servers of
    his own go there.

    Args:
        variable: holds the key; "" for none.
        of_project: whether its value comes from the `.env` file of the working folder.
    """
    owners = [spec]
    if variable and variable not in key_variables(spec):
        owners = [s for s in sound_backends() if variable in key_variables(s)]
    homes = [home for owner in owners or [spec] for home in _homes(owner)]
    host = host_of(url)
    if is_here(host):
        own = not variable or variable in _named(spec.own_keys) or (of_project and not owners)
        return own or any(map(is_here, homes))
    near = any(host == h or (h.startswith(".") and host.endswith(h)) for h in homes)
    return near and (not url or url.lower().startswith("https:"))


def _homes(spec: BackendSpec) -> tuple[str, ...]:
    return spec.homes or (host_of(spec.address({})),)


def key_variables(spec: BackendSpec) -> set[str]:
    """The variables that may hold the key of a backend, in every role."""
    return _named(spec.variables.get("api_key_env", ()))


def _named(templates: Iterable[str]) -> set[str]:
    roles = (role.upper() for role in get_args(Role))
    return {template.format(ROLE=role) for role in roles for template in templates}


def host_of(url: str) -> str:
    """The host of an address; "" where it has none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def address_shown(url: str) -> str:
    """An address without path, user name and password; https goes without saying."""
    if not url:
        return "a service of its own"
    scheme, _, rest = url.partition("://")
    host = re.split(r"[/?#]", rest)[0].rpartition("@")[2]
    return host if scheme == "https" else f"{scheme}://{host}"
