"""MiniMax's models, in both of its regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skillopt_cli.backends.chat_completions import read_usage
from skillopt_cli.backends.forms import CHAT_COMPLETIONS
from skillopt_cli.backends.openai_compatible import OFFERS, Dialect, OpenAICompatible, connect
from skillopt_cli.backends.reasoners import read_reply, reasoning_sampling
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
    BackendUnusable,
    ConfigError,
    QuotaExhausted,
    RateLimited,
    RequestRefused,
    ServerFailed,
)
from skillopt_cli.core.events import Role
from skillopt_cli.core.task import ChatReply
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, Need, RoleSettings

NAME = "minimax_chat"
REGIONS = {
    "global_en": "https://api.minimax.io/v1",
    "cn_zh": "https://api.minimaxi.com/v1",
}
_ALWAYS_THINKING = "MiniMax-M2"

_TROUBLES: Mapping[int, tuple[type[BackendError], str, str]] = {
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
"""What the service's own codes mean, which it also sends with HTTP 200; others are hiccups."""


def read_minimax_reply(data: object, where: str) -> ChatReply:
    """The reply in a decoded 200 body, without what the model thought before its answer.

    Raises:
        BackendError: the body holds a code of trouble instead; by what the code means.
        ServerFailed, RequestRefused: as `reasoners.read_reply`.
    """
    code = _code(data)
    if code:
        kind, what, hint = _TROUBLES.get(code, (ServerFailed, "failed", ""))
        usage = read_usage(data)
        raise kind(f"{where} {what} (code {code})", hint, usage=usage)
    return read_reply(data, where)


def _code(data: object) -> int:
    told = data.get("base_resp") if isinstance(data, Mapping) else None
    code = told.get("status_code") if isinstance(told, Mapping) else 0
    return code if isinstance(code, int) else 0


def thinking_field(model: str, thinking: str) -> Mapping[str, Any]:
    """The body's field about thinking; nothing where the server chooses.

    Models named MiniMax-M2... cannot but think, and are always told to.
    """
    if model.startswith(_ALWAYS_THINKING):
        return {"thinking": {"type": "adaptive"}}
    kinds = {"enabled": "adaptive", "disabled": "disabled"}
    return {"thinking": {"type": kinds[thinking]}} if thinking in kinds else {}


def open_minimax_chat(role: RoleSettings) -> OpenAICompatible:
    """The chat backend of a role. A base URL wins over the region, and may be one without a key.

    Raises:
        ConfigError: the base URL is not an http or https address, or a model that always thinks
            shall not.
        BackendUnusable: no model is named, the region's address needs a key and there is none, or
            the key cannot be sent.
    """
    thinking = role.options.get("thinking", "server_default")
    if thinking == "disabled" and role.model.startswith(_ALWAYS_THINKING):
        raise ConfigError(
            f"the model `{role.model}` of the {role.role} always thinks, and cannot be told not to",
            f"leave model.{role.role}.thinking out, or take another model",
        )
    if not (role.base_url or role.api_key):
        words = {"role": role.role, "ROLE": role.role.upper()}
        raise BackendUnusable(_KEYED.lack.format(**words), _KEYED.hint.format(**words))
    sampling = reasoning_sampling(role, thinking_field(role.model, thinking))
    form = replace(CHAT_COMPLETIONS, read=read_minimax_reply)
    url = role.base_url or REGIONS[role.options.get("region", "global_en")]
    at = replace(role, base_url=url)
    return connect(at, sampling, Dialect(NAME, form), SPEC.variables["api_key_env"])


def missing(environment: Mapping[str, str]) -> str:
    """What is not set for both roles; "" when ready."""
    roles: tuple[Role, ...] = ("optimizer", "target")
    if all({"base_url", "api_key_env"} & SPEC.said(role, environment).keys() for role in roles):
        return ""
    return "MINIMAX_API_KEY is not set"


def _names(setting: str) -> tuple[str, ...]:
    return (f"{{ROLE}}_MINIMAX_{setting}", f"MINIMAX_{setting}")


_KEYED = Need(
    ("api_key_env", "base_url"),
    "no key is given for the {role}",
    "set {ROLE}_MINIMAX_API_KEY or MINIMAX_API_KEY",
)

SPEC = BackendSpec(
    name=NAME,
    summary="MiniMax's models, in both of its regions",
    roles=frozenset(("optimizer", "target")),
    open=open_minimax_chat,
    requires="MINIMAX_API_KEY",
    missing=missing,
    needs=(_KEYED, MODEL_NAMED),
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
    honours=frozenset({"thinking", "region", "temperature"}),
    offers=OFFERS,
    prices="minimax",
)
