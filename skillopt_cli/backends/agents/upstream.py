"""The model service behind an agent program: forwards the program's requests unchanged."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from skillopt_cli.backends.agents.model_api import ModelApi, decoded, joined
from skillopt_cli.backends.chat.endpoint import (
    ModelAddress,
    check_model,
    http_url,
    public_url,
    sendable_key,
)
from skillopt_cli.backends.chat.http_errors import HttpFailure, connection_error, response_error
from skillopt_cli.backends.rate_limiter.limit_headers import rate_limits
from skillopt_cli.config.connection import client_arguments, connection_to
from skillopt_cli.core.errors import BackendError
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import RoleSettings

if TYPE_CHECKING:
    import httpx2

_LONGEST_CONNECT = 30.0


class Upstream:
    """A `ChatBackend` that forwards requests written by another program, with the real key.

    A request without `wire`, such as a preflight, is written here. As an async context manager it
    closes its connections. `TimeLimited` limits the time of a call.
    """

    offers = frozenset({"usage"})

    def __init__(self, client: httpx2.AsyncClient, api: ModelApi, role: RoleSettings) -> None:
        url = str(client.base_url)
        key = sendable_key(role)
        self.name = role.model
        self.fingerprint = json.dumps(
            {
                "model": role.model,
                "base_url": public_url(url),
                "api": api.name,
                "reasoning_effort": role.reasoning_effort,
            },
            sort_keys=True,
        )
        self._client = client
        self._api = api
        self._role = role
        self._address = ModelAddress(
            role.model,
            public_url(url),
            bool(key),
            role.secrets,
            key_from=role.key_from,
            connection=connection_to(url, role.environment),
        )
        self._key = api.headers(key)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request; see `ports.ChatBackend` for the errors."""
        import httpx2

        headers, body = self._written(request)
        failure: BackendError
        try:
            answer = await self._client.post(
                self._api.path.removeprefix("/"),
                content=body,
                headers={"content-type": "application/json", **headers, **self._key},
            )
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            failure = connection_error(error, self._address)
        else:
            if answer.status_code == 200:
                reply = self._api.read(answer.text, self._address)
                # In separate deltas a path or a key may be cut in two and would not be found.
                wire = joined(reply.wire) if request.wire else ""
                limits = rate_limits(answer.headers, time.time())
                return replace(reply, wire=wire, limits=limits)
            body = decoded(answer.text)
            answered = HttpFailure.of(answer.status_code, body, answer.headers, self._api.title)
            failure = response_error(answered, self._address)
        # Raised here so that the library's error, whose request holds the key, is not chained.
        raise failure

    def _written(self, request: ChatRequest) -> tuple[dict[str, str], bytes]:
        if not request.wire:
            return {}, json.dumps(self._api.body(request, self._role)).encode()
        head, _, body = request.wire.partition("\n\n")
        lines = (line.partition(": ") for line in head.split("\n") if line)
        return {name: value for name, _, value in lines}, body.encode(errors="backslashreplace")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()


def open_upstream(role: RoleSettings, api: ModelApi, url: str) -> Upstream:
    """Return the service of a role.

    Args:
        url: its address if the role names none; with the path before the API's own.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    # Importing it is slow, so only a run that uses it does.
    import httpx2

    check_model(role)
    base = http_url(role, url, api.path)
    if url.endswith("/v1") and api.name == "messages" and not base.endswith("/v1"):
        base += "/v1"
    timeout = httpx2.Timeout(role.timeout, connect=min(role.timeout, _LONGEST_CONNECT))
    client = httpx2.AsyncClient(
        base_url=f"{base}/", timeout=timeout, **client_arguments(base, role.environment)
    )
    return Upstream(client, api, role)
