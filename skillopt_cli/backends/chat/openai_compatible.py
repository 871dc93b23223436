"""Any server with one of OpenAI's APIs: OpenAI itself, vLLM, llama.cpp, Ollama.

For servers of reasoning models it has a default temperature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skillopt_cli.backends.chat.chat_completions import Sampling
from skillopt_cli.backends.chat.dialects import CHAT_COMPLETIONS, OPENAI_DIALECTS, Dialect
from skillopt_cli.backends.chat.endpoint import (
    OPENAI_URL,
    ModelAddress,
    check_model,
    http_url,
    is_openai,
    public_url,
    sendable_key,
    set_account,
    unset,
)
from skillopt_cli.backends.chat.http_chat import OFFERS, Connection, HttpChat, SdkErrors
from skillopt_cli.config.connection import client_arguments, connection_to
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, Need, RoleSettings

NAME = "openai_compatible"
# Servers without authentication still want the header; the SDK refuses to send none.
_NO_KEY = "no-key"
TEMPERATURE = 0.7
"""The default temperature."""


def reasoning_sampling(role: RoleSettings, extra: Mapping[str, Any]) -> Sampling:
    """Return the sampling settings of a role, with further fields of the body.

    The temperature defaults to `TEMPERATURE`, or to none if the option is server_default.
    """
    temperature = role.temperature
    if temperature is None and role.options.get("temperature") != "server_default":
        temperature = TEMPERATURE
    return replace(sampling_of(role), temperature=temperature, extra=extra)


def openai_errors() -> SdkErrors:
    """Return the exceptions of the OpenAI SDK."""
    import openai

    return SdkErrors(openai.OpenAIError, openai.APIStatusError, openai.APIConnectionError)


def connect(
    role: RoleSettings, spec: BackendSpec, dialect: Dialect[Sampling], sampling: Sampling
) -> HttpChat:
    """Return a chat backend at the role's base URL, which must be set, with its key, if any.

    Raises:
        ConfigError: the base URL is not an http or https address, or a proxy or certificates that
            a variable names cannot be used.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    url = http_url(role, path=dialect.path)
    check_model(role)
    key = sendable_key(role)
    # Importing the SDK takes about a second, so only a run that uses it does.
    import openai

    client = openai.AsyncOpenAI(
        api_key=key or _NO_KEY,
        base_url=url,
        max_retries=0,
        timeout=role.timeout,
        http_client=openai.DefaultAioHttpClient(**client_arguments(url, role.environment)),
    )
    set_account(client, role)
    variables = spec.variables["api_key_env"]
    address = ModelAddress(
        role.model,
        public_url(url),
        bool(key),
        role.secrets,
        tuple(name.format(ROLE=role.role.upper()) for name in variables),
        key_from=role.key_from,
        connection=connection_to(url, role.environment),
    )
    identity = {"backend": spec.name, "api": dialect.name, "api_version": ""}
    return HttpChat(Connection(client, openai_errors(), address, identity), dialect, sampling, role)


def sampling_of(role: RoleSettings, *, new_cap: bool = False) -> Sampling:
    """Return the sampling settings of a role."""
    return Sampling(
        role.model,
        role.max_completion_tokens,
        role.temperature,
        role.reasoning_effort,
        new_cap=new_cap,
    )


def open_openai_compatible(role: RoleSettings) -> HttpChat:
    """Return the chat backend of a role. An empty base URL means OpenAI's own.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    role = replace(role, base_url=role.base_url or OPENAI_URL)
    dialect = OPENAI_DIALECTS.get(role.options.get("api", ""), CHAT_COMPLETIONS)
    return connect(role, SPEC, dialect, sampling_of(role, new_cap=is_openai(role.base_url)))


SPEC: BackendSpec = BackendSpec(
    name=NAME,
    summary="Any server that speaks OpenAI's chat completions or Responses API",
    roles=frozenset(("optimizer", "target")),
    open=open_openai_compatible,
    requires="OPENAI_COMPATIBLE_BASE_URL, or OPENAI_API_KEY for OpenAI itself",
    missing=lambda environment: unset(
        SPEC, environment, "OPENAI_COMPATIBLE_BASE_URL or OPENAI_API_KEY"
    ),
    needs=(
        Need(
            ("base_url", "api_key_env"),
            "no model endpoint is configured for the {role}",
            "set OPENAI_COMPATIBLE_BASE_URL or OPENAI_API_KEY, or try `preset=demo`",
        ),
        MODEL_NAMED,
    ),
    address=lambda settings: OPENAI_URL,
    own_keys=("{ROLE}_OPENAI_COMPATIBLE_API_KEY", "OPENAI_COMPATIBLE_API_KEY"),
    honours=frozenset({"api"}),
    offers=OFFERS,
    prices="openai",
    variables={
        "base_url": (
            "{ROLE}_OPENAI_COMPATIBLE_BASE_URL",
            "OPENAI_COMPATIBLE_BASE_URL",
            "OPENAI_BASE_URL",
        ),
        "api_key_env": (
            "{ROLE}_OPENAI_COMPATIBLE_API_KEY",
            "OPENAI_COMPATIBLE_API_KEY",
            "OPENAI_API_KEY",
        ),
        "name": ("{ROLE}_OPENAI_COMPATIBLE_MODEL", "OPENAI_COMPATIBLE_MODEL"),
        "temperature": (
            "{ROLE}_OPENAI_COMPATIBLE_TEMPERATURE",
            "OPENAI_COMPATIBLE_TEMPERATURE",
        ),
        "max_completion_tokens": (
            "{ROLE}_OPENAI_COMPATIBLE_MAX_TOKENS",
            "OPENAI_COMPATIBLE_MAX_TOKENS",
        ),
        "timeout": (
            "{ROLE}_OPENAI_COMPATIBLE_TIMEOUT_SECONDS",
            "OPENAI_COMPATIBLE_TIMEOUT_SECONDS",
        ),
    },
)
