"""Anthropic's models, or any server that speaks their Messages API."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pydantic import SecretStr

from skillopt_cli.backends.anthropic_reply import read_reply
from skillopt_cli.backends.anthropic_wire import (
    MessageSampling,
    refused_parameter,
    request_body,
)
from skillopt_cli.backends.endpoint import check_model, http_url, sendable_key
from skillopt_cli.backends.failure import Failure
from skillopt_cli.backends.http_errors import Place, checked, public_url, refused, unreached
from skillopt_cli.backends.images import base64_of
from skillopt_cli.backends.limit_headers import rate_limits
from skillopt_cli.backends.negotiation import Negotiation
from skillopt_cli.core.errors import (
    BackendError,
    BackendUnusable,
    RequestRefused,
    ServerFailed,
)
from skillopt_cli.core.events import Role
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, Need, RoleSettings

if TYPE_CHECKING:
    import anthropic

NAME = "claude_chat"
ANTHROPIC_URL = "https://api.anthropic.com"
OFFERS = frozenset({"images", "tools", "json_schema", "usage"})
_TITLE = "Messages API"


class ClaudeChat:
    """A `ChatBackend` over the Anthropic SDK; also an async context manager that closes its client.

    The SDK's own retries are off: retrying is a wrapper's work. What a model refuses of the
    optional parameters is found out once, told, and not sent again; where that is the schema, only
    the prompt's words ask for JSON from then on.
    """

    offers = OFFERS

    def __init__(
        self,
        client: anthropic.AsyncAnthropic,
        sampling: MessageSampling,
        place: Place,
        negotiation: Negotiation,
    ) -> None:
        self.name = sampling.model
        self.fingerprint = json.dumps(
            {"backend": NAME, "base_url": place.url, **asdict(sampling)}, sort_keys=True
        )
        self._negotiation = negotiation
        self._client = client
        self._sampling = sampling
        self._place = place

    @property
    def refused(self) -> frozenset[str]:
        """Optional parameters the model does not take, as far as known."""
        return self._negotiation.refused

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request; see `ports.ChatBackend` for the errors."""
        if request.schema is not None:
            request = replace(request, schema=_simplified(request.schema))
        while True:
            answer = await self._post(await self._body(request))
            if isinstance(answer, ChatReply):
                return answer
            self._negotiation.learn(answer)

    async def _body(self, request: ChatRequest) -> dict[str, Any]:
        asked = (request, self._sampling, self.refused, base64_of)
        if any(message.images for message in request.messages):
            return await asyncio.to_thread(request_body, *asked)
        return request_body(*asked)

    async def _post(self, body: dict[str, Any]) -> ChatReply | str:
        """The reply, or the name of the optional parameter the model refuses.

        Posts without the SDK's typed layer, which takes long answers only as a stream.
        """
        import anthropic
        import httpx2

        failure: BackendError
        try:
            answer = await self._client.post("/v1/messages", cast_to=httpx2.Response, body=body)
        except anthropic.APIStatusError as error:
            headers = error.response.headers
            told = Failure.of(error.status_code, error.body, headers, _TITLE)
            if told.status in (400, 422):
                parameter = refused_parameter(told.text, body)
                if parameter is not None:
                    return parameter
            failure = refused(told, self._place)
        except anthropic.APIConnectionError as error:
            failure = unreached(error, self._place)
        except anthropic.AnthropicError as error:
            said = self._place.scrubbed(str(error))
            failure = ServerFailed(f"{self._place} gave no usable answer: {said}")
        except UnicodeEncodeError:
            failure = RequestRefused(f"the request for {self._place} is not valid Unicode")
        else:
            data = checked(answer, self._place, _TITLE)
            reply = read_reply(data, str(self._place))
            return replace(reply, limits=rate_limits(answer.headers, time.time()))
        # Raised out here so that the SDK's error, which holds the key, is not chained to ours.
        raise failure

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.close()


def _simplified(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema in the part of JSON Schema that the service takes, the rest of it put into words."""
    from anthropic import transform_schema

    try:
        return transform_schema(dict(schema))
    except (AssertionError, ValueError):
        # What the SDK does not understand is the service's to judge.
        return schema


def open_claude_chat(role: RoleSettings) -> ClaudeChat:
    """The chat backend of a role. An empty base URL means Anthropic's own; it may end in /v1.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, there is no key, or the key cannot be sent.
    """
    url = http_url(role, ANTHROPIC_URL, "/messages").removesuffix("/v1")
    check_model(role)
    key = sendable_key(role)
    if not key:
        words = {"role": role.role, "ROLE": role.role.upper()}
        raise BackendUnusable(_KEYED.lack.format(**words), _KEYED.hint.format(**words))
    # Importing the SDK takes about two seconds, which only a run that uses it should pay.
    import anthropic

    client = anthropic.AsyncAnthropic(
        api_key=key, base_url=url, max_retries=0, timeout=role.timeout
    )
    sampling = MessageSampling(
        role.model,
        role.max_completion_tokens,
        role.temperature,
        role.reasoning_effort,
        role.options.get("thinking", "server_default"),
    )
    place = Place(role.model, public_url(url), SecretStr(key), key_from=role.key_from)
    return ClaudeChat(client, sampling, place, Negotiation(role.refused, role.on_refused))


def missing(environment: Mapping[str, str]) -> str:
    """What is not set for both roles; "" when ready."""
    roles: tuple[Role, ...] = ("optimizer", "target")
    if all("api_key_env" in SPEC.said(role, environment) for role in roles):
        return ""
    return "ANTHROPIC_API_KEY is not set"


_KEYED = Need(
    ("api_key_env",),
    "no key is given for the {role}",
    "set {ROLE}_ANTHROPIC_API_KEY or ANTHROPIC_API_KEY",
)

SPEC = BackendSpec(
    name=NAME,
    summary="Anthropic's models through the Messages API",
    roles=frozenset(("optimizer", "target")),
    open=open_claude_chat,
    requires="ANTHROPIC_API_KEY",
    missing=missing,
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
