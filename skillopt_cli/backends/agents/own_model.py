"""Programs that bring their own model: what they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt_cli.backends.agents.binaries import Sought, find
from skillopt_cli.core.errors import BackendUnusable
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage
from skillopt_cli.ports import Need, RoleSettings

IGNORED = frozenset(("base_url", "temperature", "max_completion_tokens", "timeout"))
"""Settings of a role that only a model of ours could heed."""


class OwnModel:
    """A `ChatBackend` for a program that brings its own model: each run of it is one call.

    It says nothing. It stands where caps, pace and doors are, so that they hold for runs of the
    program as they do for calls. What a run costs nobody knows.
    """

    offers: frozenset[str] = frozenset()

    def __init__(self, name: str, fingerprint: str) -> None:
        self.name = name
        self.fingerprint = fingerprint

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Nothing, at once."""
        return ChatReply("", Usage(1))


def key_of(role: RoleSettings) -> str:
    """The key that a program signs in with.

    Raises:
        BackendUnusable: there is none.
    """
    if role.api_key is None:
        raise BackendUnusable(
            f"no key is given for the {role.role}",
            "name the variable that holds it in api_key_env",
        )
    return role.api_key.get_secret_value()


def key_needed(variable: str) -> Need:
    """The need of a program that signs in with a key."""
    return Need(("api_key_env",), "no key is given for the {role}", f"set {variable}")


def lacking(sought: Sought, keys: Sequence[str], environment: Mapping[str, str]) -> str:
    """What a program needs and this machine lacks; "" when ready."""
    try:
        find(sought, "", environment)
    except BackendUnusable as error:
        return error.message
    if any(environment.get(name, "").strip() for name in keys):
        return ""
    return f"{keys[0]} is not set"
