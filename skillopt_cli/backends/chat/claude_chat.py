"""Anthropic's models, or any server with their Messages API."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from skillopt_cli.backends.chat.anthropic_messages import MessageSampling, request_body
from skillopt_cli.backends.chat.cache_marks import StoredPrefixes, shared_prefix, unmarked
from skillopt_cli.backends.chat.dialects import MESSAGES
from skillopt_cli.backends.chat.endpoint import (
    ModelAddress,
    check_model,
    http_url,
    public_url,
    sendable_key,
    unset,
)
from skillopt_cli.backends.chat.http_chat import OFFERS, Connection, HttpChat, SdkErrors
from skillopt_cli.config.connection import client_arguments, connection_to
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, Need, RoleSettings

NAME = "claude_chat"
ANTHROPIC_URL = "https://api.anthropic.com"


class ClaudeChat(HttpChat):
    """Anthropic's models; of concurrent calls that begin alike only one has the text stored."""

    def __init__(
        self, connection: Connection, sampling: MessageSampling, role: RoleSettings
    ) -> None:
        super().__init__(connection, replace(MESSAGES, body=_body), sampling, role)
        self._stored = StoredPrefixes()

    async def _post(self, body: dict[str, Any]) -> ChatReply | str:
        prefix = shared_prefix(body)
        if prefix is None:
            return await super()._post(body)
        with self._stored.use(prefix) as marking:
            answer = await super()._post(body if marking else unmarked(body))
        if marking and isinstance(answer, ChatReply):
            self._stored.answered(prefix)
        return answer


def _body(
    request: ChatRequest, sampling: MessageSampling, refused: Collection[str]
) -> dict[str, Any]:
    """Write a request's body, with its schema in the part of JSON Schema the service supports."""
    if request.schema is not None:
        request = replace(request, schema=_simplified(request.schema))
    return request_body(request, sampling, refused)


def _simplified(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    from anthropic import transform_schema

    try:
        return transform_schema(dict(schema))
    except (AssertionError, ValueError):
        # A schema that the SDK does not understand is left to the service.
        return schema


def open_claude_chat(role: RoleSettings) -> ClaudeChat:
    """Return the chat backend of a role. An empty base URL means Anthropic's own.

    A base URL may end in /v1. Once the model has refused the schema, only the words of the prompt
    ask for JSON.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, there is no key, or the key cannot be sent.
    """
    url = http_url(role, ANTHROPIC_URL, "/messages").removesuffix("/v1")
    check_model(role)
    key = sendable_key(role)
    if not key:
        raise _KEYED.error(role.role)
    # Importing the SDK takes about two seconds, so only a run that uses it does.
    import anthropic

    client = anthropic.AsyncAnthropic(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=role.timeout,
        http_client=anthropic.DefaultAioHttpClient(**client_arguments(url, role.environment)),
    )
    sampling = MessageSampling(
        role.model,
        role.max_completion_tokens,
        role.temperature,
        role.reasoning_effort,
        role.options.get("thinking", "server_default"),
    )
    errors = SdkErrors(
        anthropic.AnthropicError, anthropic.APIStatusError, anthropic.APIConnectionError
    )
    address = ModelAddress(
        role.model,
        public_url(url),
        keyed=True,
        secrets=role.secrets,
        key_from=role.key_from,
        connection=connection_to(url, role.environment),
    )
    connection = Connection(client, errors, address, {"backend": NAME})
    return ClaudeChat(connection, sampling, role)


_KEYED = Need(
    ("api_key_env",),
    "no key is given for the {role}",
    "set {ROLE}_ANTHROPIC_API_KEY or ANTHROPIC_API_KEY",
)

SPEC: BackendSpec = BackendSpec(
    name=NAME,
    summary="Anthropic's models through the Messages API",
    roles=frozenset(("optimizer", "target")),
    open=open_claude_chat,
    requires="ANTHROPIC_API_KEY",
    missing=lambda environment: unset(SPEC, environment, "ANTHROPIC_API_KEY"),
    address=lambda settings: ANTHROPIC_URL,
    needs=(_KEYED, MODEL_NAMED),
    variables={
        "base_url": ("{ROLE}_ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL"),
        "api_key_env": ("{ROLE}_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        "name": ("{ROLE}_ANTHROPIC_MODEL",),
    },
    honours=frozenset({"thinking"}),
    offers=OFFERS,
    prices="anthropic",
)
