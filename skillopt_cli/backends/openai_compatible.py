"""Any server that speaks one of OpenAI's interfaces: OpenAI itself, vLLM, llama.cpp, Ollama."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pydantic import SecretStr

from skillopt_cli.backends.chat_completions import Sampling
from skillopt_cli.backends.endpoint import (
    OPENAI_URL,
    check_model,
    http_url,
    is_openai,
    sendable_key,
    unambient,
)
from skillopt_cli.backends.forms import CHAT_COMPLETIONS, FORMS, Form
from skillopt_cli.backends.http_errors import Place, checked, public_url
from skillopt_cli.backends.limit_headers import rate_limits
from skillopt_cli.backends.negotiation import Negotiation, refused_parameter
from skillopt_cli.backends.openai_errors import failure_of, translated
from skillopt_cli.core.errors import BackendError, RequestRefused
from skillopt_cli.core.events import Role
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, Need, RoleSettings

if TYPE_CHECKING:
    import openai

NAME = "openai_compatible"
OFFERS = frozenset({"images", "tools", "json_schema", "usage"})
# Servers without authentication still want the header; the SDK refuses to send none.
_NO_KEY = "no-key"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a backend speaks.

    Attributes:
        backend: its name.
        version: of the interface, where addresses carry one.
    """

    backend: str = NAME
    form: Form = CHAT_COMPLETIONS
    version: str = ""


class OpenAICompatible:
    """A `ChatBackend` over the OpenAI SDK; also an async context manager that closes its client.

    The SDK's own retries are off: retrying is a wrapper's work. What a server refuses of the
    optional parameters is found out once per instance and not sent again.
    """

    offers = OFFERS

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        sampling: Sampling,
        place: Place,
        dialect: Dialect,
        negotiation: Negotiation,
    ) -> None:
        self.name = sampling.model
        facts = {
            "backend": dialect.backend,
            "base_url": place.url,
            "api": dialect.form.name,
            "api_version": dialect.version,
            **asdict(sampling),
        }
        self.fingerprint = json.dumps(facts, sort_keys=True)
        self._client = client
        self._sampling = sampling
        self._place = place
        self._form = dialect.form
        self._negotiation = negotiation
        self._closers: list[Callable[[], None]] = []

    def closing(self, close: Callable[[], None]) -> Self:
        """The same backend, with something that is closed after its client."""
        self._closers.append(close)
        return self

    @property
    def refused(self) -> frozenset[str]:
        """Optional parameters the server does not take, as far as known."""
        return self._negotiation.refused

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request; see `ports.ChatBackend` for the errors."""
        while True:
            answer = await self._post(await self._body(request))
            if isinstance(answer, ChatReply):
                return answer
            self._negotiation.learn(answer)

    async def _body(self, request: ChatRequest) -> dict[str, Any]:
        asked = (request, self._sampling, self.refused)
        if any(message.images for message in request.messages):
            return await asyncio.to_thread(self._form.body, *asked)
        return self._form.body(*asked)

    async def _post(self, body: dict[str, Any]) -> ChatReply | str:
        """The reply, or the name of the optional parameter the server refuses.

        Posts without the SDK's typed layer, which would take more time than all the rest.
        """
        import httpx2
        import openai

        failure: BackendError
        try:
            answer = await self._client.post(self._form.path, cast_to=httpx2.Response, body=body)
        except openai.APIStatusError as error:
            if error.status_code in (400, 422):
                told = failure_of(error, self._form.title)
                parameter = refused_parameter(told.parameter, told.text, body)
                if parameter is not None:
                    return parameter
            failure = translated(error, self._place, self._form.title)
        except openai.OpenAIError as error:
            failure = translated(error, self._place, self._form.title)
        except UnicodeEncodeError:
            failure = RequestRefused(f"the request for {self._place} is not valid Unicode")
        else:
            data = checked(answer, self._place, self._form.title)
            reply = self._form.read(data, str(self._place))
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
        for close in self._closers:
            close()


def connect(
    role: RoleSettings, sampling: Sampling, dialect: Dialect, variables: Sequence[str]
) -> OpenAICompatible:
    """A backend at the role's base URL, which must be set, with the role's key, if any.

    Args:
        variables: templates of the names a key could stand in.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    url = http_url(role, path=dialect.form.path)
    check_model(role)
    key = sendable_key(role)
    # Importing the SDK takes about a second, which only a run that uses it should pay.
    import openai

    client = openai.AsyncOpenAI(
        api_key=key or _NO_KEY, base_url=url, max_retries=0, timeout=role.timeout
    )
    unambient(client, role)
    names = tuple(name.format(ROLE=role.role.upper()) for name in variables)
    secret = SecretStr(key) if key else None
    place = Place(role.model, public_url(url), secret, names, key_from=role.key_from)
    negotiation = Negotiation(role.refused, role.on_refused)
    return OpenAICompatible(client, sampling, place, dialect, negotiation)


def sampling_of(role: RoleSettings, *, new_cap: bool = False) -> Sampling:
    """What a role asks of its model."""
    return Sampling(
        role.model,
        role.max_completion_tokens,
        role.temperature,
        role.reasoning_effort,
        new_cap=new_cap,
    )


def open_openai_compatible(role: RoleSettings) -> OpenAICompatible:
    """The chat backend of a role. An empty base URL means OpenAI's own.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    role = replace(role, base_url=role.base_url or OPENAI_URL)
    form = FORMS.get(role.options.get("api", ""), CHAT_COMPLETIONS)
    sampling = sampling_of(role, new_cap=is_openai(role.base_url))
    return connect(role, sampling, Dialect(NAME, form), SPEC.variables["api_key_env"])


def missing(environment: Mapping[str, str]) -> str:
    """What is not set of an endpoint for both roles; "" when ready."""
    roles: tuple[Role, ...] = ("optimizer", "target")
    if all({"base_url", "api_key_env"} & SPEC.said(role, environment).keys() for role in roles):
        return ""
    return "OPENAI_COMPATIBLE_BASE_URL or OPENAI_API_KEY is not set"


SPEC = BackendSpec(
    name=NAME,
    summary="Any server that speaks OpenAI's chat completions or Responses API",
    roles=frozenset(("optimizer", "target")),
    open=open_openai_compatible,
    requires="OPENAI_COMPATIBLE_BASE_URL, or OPENAI_API_KEY for OpenAI itself",
    missing=missing,
    needs=(
        Need(
            ("base_url", "api_key_env"),
            "no model endpoint is configured for the {role}",
            "set OPENAI_COMPATIBLE_BASE_URL or OPENAI_API_KEY, or try `preset=demo`",
        ),
        MODEL_NAMED,
    ),
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
