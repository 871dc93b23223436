"""Where a model is reached and with which key: checked before any call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillopt_cli.backends.http_errors import public_url
from skillopt_cli.config.address import address_fault
from skillopt_cli.core.errors import BackendUnusable, ConfigError
from skillopt_cli.ports import RoleSettings

if TYPE_CHECKING:
    import openai

OPENAI_URL = "https://api.openai.com/v1"


def http_url(role: RoleSettings, otherwise: str = "", path: str = "") -> str:
    """The role's base URL, or `otherwise` where it has none, without slashes at its end.

    Args:
        path: what calls add to it, such as "/chat/completions"; left out where the address, as it
            stands in many a manual, ends with that already.

    Raises:
        ConfigError: it is no http or https address, or holds a query.
    """
    url = role.base_url or otherwise
    if fault := address_fault(url):
        raise ConfigError(
            f"model.{role.role}.base_url `{public_url(url)}` {fault}",
            "write it like http://127.0.0.1:8000/v1",
        )
    return url.rstrip("/").removesuffix(path)


def check_model(role: RoleSettings) -> None:
    """Refuse a role without a model.

    Raises:
        BackendUnusable: none is named.
    """
    if not role.model:
        raise BackendUnusable(
            f"no model is named for the {role.role}",
            f"add `model.{role.role}.name=NAME`",
        )


def sendable_key(role: RoleSettings) -> str:
    """The role's key without white space around it, "" for none.

    Raises:
        BackendUnusable: no HTTP header can carry it.
    """
    key = role.api_key.get_secret_value().strip() if role.api_key else ""
    if not (key.isascii() and key.isprintable()):
        raise BackendUnusable(
            f"the key of the {role.role} holds characters that no HTTP header can carry",
            f"check {role.key_from or 'the variable named by api_key_env'} for stray characters",
        )
    return key


def unambient(client: openai.AsyncOpenAI, role: RoleSettings) -> None:
    """Have a client know the account's organization as the run does, and only OpenAI be told."""
    known = role.environment if is_openai(role.base_url) else {}
    client.organization = known.get("OPENAI_ORG_ID") or None
    client.project = known.get("OPENAI_PROJECT_ID") or None


def is_openai(url: str) -> bool:
    """Whether an address is OpenAI's own."""
    return re.match(r"https?://api\.openai\.com(?:[:/]|$)", url) is not None
