"""The address and key of a model, validated before any call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillopt_cli.config.connection import Connection
from skillopt_cli.config.model_section import address_fault
from skillopt_cli.core.errors import BackendUnusable, ConfigError
from skillopt_cli.core.secrets import Secrets
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, RoleSettings

if TYPE_CHECKING:
    import openai

    from skillopt_cli.core.events import Role

OPENAI_URL = "https://api.openai.com/v1"
_LONGEST_DETAIL = 300


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """A model at an address, for messages.

    Attributes:
        url: the base URL without credentials and query.
        keyed: whether a key is sent.
        secrets: removed from what is quoted of an answer.
        variables: names of the variables that may hold a key, for a hint when there is none.
        key_from: the variable that the key came from; "" if unknown.
        credentials: what to check when credentials other than a key are refused; "" with a key.
        connection: how it is reached.
    """

    model: str
    url: str
    keyed: bool = False
    secrets: Secrets = field(default_factory=Secrets, repr=False, compare=False)
    variables: tuple[str, ...] = ()
    credentials: str = ""
    key_from: str = ""
    connection: Connection = field(default_factory=Connection)

    def __str__(self) -> str:
        way = self.connection
        through = f" through {public_url(way.proxy)} ({way.proxy_from})" if way.proxy else ""
        return f"model `{self.model}` at {self.url}{through}"

    def scrubbed(self, text: str) -> str:
        """Return `text` as one line of bounded length, without any secret."""
        # Before it is cut: half a key would not be found.
        line = " ".join(self.secrets.hide(text).split())
        return line if len(line) <= _LONGEST_DETAIL else line[:_LONGEST_DETAIL] + "..."


def public_url(url: str) -> str:
    """Return an address, or any text, without user name, password, query and fragment."""
    return re.sub(r"^(\w+://)?[^/@]*@", r"\1", re.split(r"[?#]", url)[0]).rstrip("/")


def http_url(role: RoleSettings, otherwise: str = "", path: str = "") -> str:
    """Return the role's base URL, or `otherwise` if it has none, without trailing slashes.

    Args:
        path: what calls append, such as "/chat/completions"; removed from an address that already
            ends with it.

    Raises:
        ConfigError: it is not an http or https address, or has a query.
    """
    url = role.base_url or otherwise
    if fault := address_fault(url):
        raise ConfigError(
            f"model.{role.role}.base_url `{public_url(url)}` {fault}",
            "write it like http://127.0.0.1:8000/v1",
        )
    return url.rstrip("/").removesuffix(path)


def check_model(role: RoleSettings) -> None:
    """Raise an error for a role without a model.

    Raises:
        BackendUnusable: no model is named.
    """
    if not role.model:
        raise MODEL_NAMED.error(role.role)


def sendable_key(role: RoleSettings) -> str:
    """Return the role's key without surrounding white space, "" for none.

    Raises:
        BackendUnusable: it cannot be sent in an HTTP header.
    """
    key = role.api_key.get_secret_value().strip() if role.api_key else ""
    if not (key.isascii() and key.isprintable()):
        raise BackendUnusable(
            f"the key of the {role.role} holds characters that no HTTP header can carry",
            f"check {role.key_from or 'the variable named by api_key_env'} for stray characters",
        )
    return key


def unset(spec: BackendSpec, environment: Mapping[str, str], variables: str) -> str:
    """Return a message if no variable meets the backend's first need in both roles; else ""."""
    roles: tuple[Role, ...] = ("optimizer", "target")
    needed = set(spec.needs[0].settings)
    met = all(needed & spec.variables_set(role, environment).keys() for role in roles)
    return "" if met else f"{variables} is not set"


def set_account(client: openai.AsyncOpenAI, role: RoleSettings) -> None:
    """Set the client's organization and project from the run's environment, for OpenAI only."""
    known = role.environment if is_openai(role.base_url) else {}
    client.organization = known.get("OPENAI_ORG_ID") or None
    client.project = known.get("OPENAI_PROJECT_ID") or None


def is_openai(url: str) -> bool:
    """Whether an address is OpenAI's own."""
    return re.match(r"https?://api\.openai\.com(?:[:/]|$)", url) is not None
