"""The chat backend over a provider's SDK, in any of the API dialects."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from skillopt_cli.backends.chat.bodies import decoded_body
from skillopt_cli.backends.chat.dialects import Dialect, S
from skillopt_cli.backends.chat.endpoint import ModelAddress
from skillopt_cli.backends.chat.http_errors import (
    HttpFailure,
    connection_error,
    response_error,
)
from skillopt_cli.backends.rate_limiter.limit_headers import rate_limits
from skillopt_cli.core.errors import BackendError, RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import RoleSettings

if TYPE_CHECKING:
    import anthropic
    import openai

OFFERS = frozenset({"images", "tools", "json_schema", "usage"})


@dataclass(frozen=True, slots=True)
class SdkErrors:
    """An SDK's exceptions: their base class, an HTTP status, a failed connection."""

    base: type[Exception]
    status: type[Exception]
    connection: type[Exception]


@dataclass(frozen=True, slots=True)
class Connection:
    """An SDK client and the service behind it.

    Attributes:
        address: model and URL, for messages.
        identity: what distinguishes the service in a fingerprint, besides URL and sampling.
        close: releases what the client's credentials hold.
    """

    client: openai.AsyncOpenAI | anthropic.AsyncAnthropic
    errors: SdkErrors
    address: ModelAddress
    identity: Mapping[str, str]
    close: Callable[[], None] = field(default=lambda: None)


class HttpChat:
    """A `ChatBackend` over an SDK client; as an async context manager it closes the client.

    The SDK's own retries are off, since `Retrying` retries. An optional parameter that the model
    refuses is left out of this and all later requests.

    Attributes:
        refused: optional parameters that the model is known to refuse.
    """

    offers = OFFERS

    def __init__(
        self, connection: Connection, dialect: Dialect[S], sampling: S, role: RoleSettings
    ) -> None:
        address = connection.address
        facts = {**connection.identity, "base_url": address.url, **asdict(sampling)}
        self.name = address.model
        self.fingerprint = json.dumps(facts, sort_keys=True)
        self._connection = connection
        self._address = address
        self.refused = role.refused
        self._report_refused = role.on_refused
        self._path, self._title = dialect.path, dialect.title
        self._read, self._join = dialect.read, dialect.join
        self._refused_parameter = dialect.refused_parameter
        self._body: Callable[[ChatRequest], dict[str, Any]] = lambda request: dialect.body(
            request, sampling, self.refused
        )

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request; see `ports.ChatBackend` for the errors."""
        while True:
            answer = await self._post(await self._written(request))
            if isinstance(answer, ChatReply):
                return answer
            # Concurrent calls may all learn of it; it is reported once.
            if answer not in self.refused:
                self.refused |= {answer}
                self._report_refused(answer)

    async def _written(self, request: ChatRequest) -> dict[str, Any]:
        if any(message.images for message in request.messages):
            return await asyncio.to_thread(self._body, request)
        return self._body(request)

    async def _post(self, body: dict[str, Any]) -> ChatReply | str:
        """Return the reply, or the name of the optional parameter that the model refuses.

        Posts without the SDK's typed layer, which is slow and streams long answers.
        """
        import httpx2

        failure: BackendError
        connection, address = self._connection, self._address
        try:
            answer = await connection.client.post(self._path, cast_to=httpx2.Response, body=body)
        except connection.errors.base as error:
            outcome = self._outcome(error, body)
            if isinstance(outcome, str):
                return outcome
            failure = outcome
        except UnicodeEncodeError:
            failure = RequestRefused(f"the request for {address} is not valid Unicode")
        else:
            data = decoded_body(answer, address, self._title, self._join)
            reply = self._read(data, str(address))
            limits = rate_limits(answer.headers, time.time())
            return reply if limits is None else replace(reply, limits=limits)
        # Raised here so that the SDK's error, which holds the key, is not chained to ours.
        raise failure

    def _outcome(self, error: Exception, body: Mapping[str, Any]) -> BackendError | str:
        """Translate an SDK error, or return the refused parameter it names."""
        errors, address = self._connection.errors, self._address
        if isinstance(error, errors.connection):
            return connection_error(error, address)
        if not isinstance(error, errors.status):
            return ServerFailed(f"{address} gave no usable answer: {address.scrubbed(str(error))}")
        answer: Any = error
        failure = HttpFailure.of(
            answer.status_code, answer.body, answer.response.headers, self._title
        )
        parameter = None
        if failure.status in (400, 422):
            parameter = self._refused_parameter(failure, body)
        return response_error(failure, address) if parameter is None else parameter

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.client.close()
        self._connection.close()
