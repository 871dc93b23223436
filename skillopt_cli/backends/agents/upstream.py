"""The model service behind an agent's program: what the program wrote goes there as it is."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pydantic import SecretStr

from skillopt_cli.backends.agents.wire import AgentForm, decoded
from skillopt_cli.backends.endpoint import check_model, http_url, sendable_key
from skillopt_cli.backends.failure import Failure
from skillopt_cli.backends.http_errors import Place, public_url, refused, unreached
from skillopt_cli.backends.limit_headers import rate_limits
from skillopt_cli.core.errors import BackendError
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import RoleSettings

if TYPE_CHECKING:
    import httpx2

_LONGEST_CONNECT = 30.0


class Upstream:
    """A `ChatBackend` that passes on requests written by another program, with the real key.

    A request without `wire`, such as a preflight, is written here. Also an async context manager
    that closes its connections. Time limits are a wrapper's work.
    """

    offers = frozenset({"usage"})

    def __init__(self, client: httpx2.AsyncClient, form: AgentForm, role: RoleSettings) -> None:
        url = str(client.base_url)
        key = sendable_key(role)
        self.name = role.model
        self.fingerprint = json.dumps(
            {
                "model": role.model,
                "base_url": public_url(url),
                "api": form.name,
                "reasoning_effort": role.reasoning_effort,
            },
            sort_keys=True,
        )
        self._client = client
        self._form = form
        self._role = role
        secret = SecretStr(key) if key else None
        self._place = Place(role.model, public_url(url), secret, key_from=role.key_from)
        self._key = form.headers(key)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request; see `ports.ChatBackend` for the errors."""
        import httpx2

        headers, body = self._written(request)
        failure: BackendError
        try:
            answer = await self._client.post(
                self._form.path.removeprefix("/"),
                content=body,
                headers={"content-type": "application/json", **headers, **self._key},
            )
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            failure = unreached(error, self._place)
        else:
            if answer.status_code == 200:
                reply = self._form.read(answer.text, self._place)
                if not request.wire:
                    reply = replace(reply, wire="")
                return replace(reply, limits=rate_limits(answer.headers, time.time()))
            body = decoded(answer.text)
            told = Failure.of(answer.status_code, body, answer.headers, self._form.title)
            failure = refused(told, self._place)
        # Raised out here so that the library's error, whose request holds the key, is not chained.
        raise failure

    def _written(self, request: ChatRequest) -> tuple[dict[str, str], bytes]:
        if not request.wire:
            return {}, json.dumps(self._form.body(request, self._role)).encode()
        head, _, body = request.wire.partition("\n\n")
        lines = (line.partition(": ") for line in head.split("\n") if line)
        return {name: value for name, _, value in lines}, body.encode(errors="backslashreplace")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.aclose()


def open_upstream(role: RoleSettings, form: AgentForm, url: str) -> Upstream:
    """The service of a role.

    Args:
        url: its address where the role names none; with the path that stands before the form's.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    # Importing it takes a while, which only a run that uses it should pay.
    import httpx2

    check_model(role)
    base = http_url(role, url, form.path)
    if url.endswith("/v1") and form.name == "messages" and not base.endswith("/v1"):
        base += "/v1"
    timeout = httpx2.Timeout(role.timeout, connect=min(role.timeout, _LONGEST_CONNECT))
    client = httpx2.AsyncClient(base_url=f"{base}/", timeout=timeout)
    return Upstream(client, form, role)
