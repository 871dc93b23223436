"""Servers of Qwen models, with or without thinking."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.backends.chat.dialects import CHAT_COMPLETIONS
from skillopt_cli.backends.chat.http_chat import OFFERS, HttpChat
from skillopt_cli.backends.chat.openai_compatible import connect, reasoning_sampling
from skillopt_cli.ports import BackendSpec, RoleSettings

NAME = "qwen_chat"
QWEN_URL = "http://localhost:8000/v1"


def open_qwen_chat(role: RoleSettings) -> HttpChat:
    """Return the chat backend of a role. An empty base URL means a server on this machine.

    The chat template receives whether the model thinks, unless that is `server_default`. Only
    `max_completion_tokens` limits the length.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    thinking = role.options.get("thinking", "server_default")
    template = {"chat_template_kwargs": {"enable_thinking": thinking == "enabled"}}
    sampling = reasoning_sampling(role, {} if thinking == "server_default" else template)
    role = replace(role, base_url=role.base_url or QWEN_URL)
    return connect(role, SPEC, CHAT_COMPLETIONS, sampling)


def _names(setting: str) -> tuple[str, ...]:
    return (f"{{ROLE}}_QWEN_CHAT_{setting}", f"QWEN_CHAT_{setting}")


SPEC = BackendSpec(
    name=NAME,
    summary="Servers of Qwen models, thinking or not",
    roles=frozenset(("optimizer", "target")),
    open=open_qwen_chat,
    requires=f"a server; QWEN_CHAT_BASE_URL where it is not at {QWEN_URL}",
    address=lambda settings: QWEN_URL,
    default_model="Qwen/Qwen3.5-4B",
    variables={
        "base_url": _names("BASE_URL"),
        "api_key_env": _names("API_KEY"),
        "name": _names("MODEL"),
        "temperature": _names("TEMPERATURE"),
        "max_completion_tokens": _names("MAX_TOKENS"),
        "timeout": _names("TIMEOUT_SECONDS"),
        "thinking": _names("THINKING_MODE"),
    },
    honours=frozenset({"thinking", "temperature"}),
    offers=OFFERS,
)
