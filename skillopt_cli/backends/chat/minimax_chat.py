"""MiniMax's models, in both of its regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from skillopt_cli.backends.chat.chat_completions import read_reply, read_usage
from skillopt_cli.backends.chat.dialects import CHAT_COMPLETIONS
from skillopt_cli.backends.chat.endpoint import unset
from skillopt_cli.backends.chat.http_chat import OFFERS, HttpChat
from skillopt_cli.backends.chat.openai_compatible import connect, reasoning_sampling
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
    ConfigError,
    QuotaExhausted,
    RateLimited,
    RequestRefused,
    ServerFailed,
)
from skillopt_cli.core.task import ChatReply
from skillopt_cli.ports import BackendSpec, Need, RoleSettings

NAME = "minimax_chat"
REGIONS = {
    "global_en": "https://api.minimax.io/v1",
    "cn_zh": "https://api.minimaxi.com/v1",
}
_ALWAYS_THINKING = "MiniMax-M2"

_ERROR_CODES: Mapping[int, tuple[type[BackendError], str, str]] = {
    1002: (RateLimited, "is rate limited", ""),
    1039: (RateLimited, "is rate limited by tokens", ""),
    2045: (RateLimited, "is rate limited", ""),
    1004: (AuthFailed, "refused the key", "check that the key is one of the configured region"),
    2049: (AuthFailed, "refused the key", "check that the key is one of the configured region"),
    1008: (QuotaExhausted, "wants to be paid first", "check the account's balance"),
    2056: (QuotaExhausted, "has no usage left in the plan", "check the account's plan"),
    1026: (RequestRefused, "declined to read this request", ""),
    1027: (RequestRefused, "declined to answer this request", ""),
    2013: (RequestRefused, "refused the request's parameters", ""),
}
"""The service's own error codes, also sent with HTTP 200; others are `ServerFailed`."""


def read_minimax_reply(data: object, where: str) -> ChatReply:
    """Parse the reply in a decoded 200 body.

    Raises:
        BackendError: the body holds an error code instead; of the class of that code.
        ServerFailed, RequestRefused: as `chat_completions.read_reply`.
    """
    code = _code(data)
    if code:
        kind, what, hint = _ERROR_CODES.get(code, (ServerFailed, "failed", ""))
        usage = read_usage(data)
        raise kind(f"{where} {what} (code {code})", hint, usage=usage)
    return read_reply(data, where)


def _code(data: object) -> int:
    status = data.get("base_resp") if isinstance(data, Mapping) else None
    code = status.get("status_code") if isinstance(status, Mapping) else 0
    return code if isinstance(code, int) else 0


def thinking_field(model: str, thinking: str) -> Mapping[str, Any]:
    """Return the body's field about thinking; nothing for `server_default`.

    Models named MiniMax-M2... always think, so they always get the field.
    """
    if model.startswith(_ALWAYS_THINKING):
        return {"thinking": {"type": "adaptive"}}
    kinds = {"enabled": "adaptive", "disabled": "disabled"}
    return {"thinking": {"type": kinds[thinking]}} if thinking in kinds else {}


def open_minimax_chat(role: RoleSettings) -> HttpChat:
    """Return the chat backend of a role. A base URL wins over the region and needs no key.

    Raises:
        ConfigError: the base URL is not an http or https address, or thinking is disabled for a
            model that always thinks.
        BackendUnusable: no model is named, the region's address needs a key and there is none, or
            the key cannot be sent.
    """
    thinking = role.options.get("thinking", "server_default")
    if thinking == "disabled" and role.model.startswith(_ALWAYS_THINKING):
        raise ConfigError(
            f"thinking cannot be disabled for the model `{role.model}` of the {role.role}",
            f"leave model.{role.role}.thinking out, or use another model",
        )
    if not (role.base_url or role.api_key):
        raise _KEYED.error(role.role)
    sampling = reasoning_sampling(role, thinking_field(role.model, thinking))
    dialect = replace(CHAT_COMPLETIONS, read=read_minimax_reply)
    url = role.base_url or _address(role.options)
    return connect(replace(role, base_url=url), SPEC, dialect, sampling)


def _address(settings: Mapping[str, object]) -> str:
    return REGIONS[str(settings.get("region") or "global_en")]


def _names(setting: str) -> tuple[str, ...]:
    return (f"{{ROLE}}_MINIMAX_{setting}", f"MINIMAX_{setting}")


_KEYED = Need(
    ("api_key_env", "base_url"),
    "no key is given for the {role}",
    "set {ROLE}_MINIMAX_API_KEY or MINIMAX_API_KEY",
)

SPEC: BackendSpec = BackendSpec(
    name=NAME,
    summary="MiniMax's models, in both of its regions",
    roles=frozenset(("optimizer", "target")),
    open=open_minimax_chat,
    requires="MINIMAX_API_KEY",
    missing=lambda environment: unset(SPEC, environment, "MINIMAX_API_KEY"),
    address=_address,
    homes=tuple(str(urlsplit(url).hostname) for url in REGIONS.values()),
    default_model="MiniMax-M3",
    needs=(_KEYED,),
    variables={
        "region": _names("REGION"),
        "base_url": _names("BASE_URL"),
        "api_key_env": _names("API_KEY"),
        "name": _names("MODEL"),
        "temperature": _names("TEMPERATURE"),
        "max_completion_tokens": _names("MAX_TOKENS"),
        "timeout": _names("TIMEOUT_SECONDS"),
        "thinking": _names("ENABLE_THINKING"),
    },
    flags={
        "region": "--minimax-region",
        "base_url": "--minimax-base-url",
        "name": "--minimax-model",
        "temperature": "--minimax-temperature",
        "max_completion_tokens": "--minimax-max-tokens",
        "thinking": "--minimax-enable-thinking",
    },
    honours=frozenset({"thinking", "region", "temperature"}),
    offers=OFFERS,
    prices="minimax",
)
