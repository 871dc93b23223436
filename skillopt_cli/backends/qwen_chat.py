"""Servers of Qwen models, which can be told whether to think first."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.backends.forms import CHAT_COMPLETIONS
from skillopt_cli.backends.openai_compatible import OFFERS, Dialect, OpenAICompatible, connect
from skillopt_cli.backends.reasoners import read_reply, reasoning_sampling
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, RoleSettings

NAME = "qwen_chat"
QWEN_URL = "http://localhost:8000/v1"


def open_qwen_chat(role: RoleSettings) -> OpenAICompatible:
    """The chat backend of a role. An empty base URL means a server on this machine.

    Whether the model thinks is said to the chat template; with `server_default` nothing is said.
    Thoughts that come before the answer are left out of the text. No length is capped but by the
    role's own `max_completion_tokens`.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    thinking = role.options.get("thinking", "server_default")
    told = {"chat_template_kwargs": {"enable_thinking": thinking == "enabled"}}
    sampling = reasoning_sampling(role, {} if thinking == "server_default" else told)
    form = replace(CHAT_COMPLETIONS, read=read_reply)
    at = replace(role, base_url=role.base_url or QWEN_URL)
    return connect(at, sampling, Dialect(NAME, form), SPEC.variables["api_key_env"])


def _names(setting: str) -> tuple[str, ...]:
    return (f"{{ROLE}}_QWEN_CHAT_{setting}", f"QWEN_CHAT_{setting}")


SPEC = BackendSpec(
    name=NAME,
    summary="Servers of Qwen models, thinking or not",
    roles=frozenset(("optimizer", "target")),
    open=open_qwen_chat,
    requires=f"a server; QWEN_CHAT_BASE_URL where it is not at {QWEN_URL}",
    needs=(MODEL_NAMED,),
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
