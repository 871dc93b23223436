"""Any server that speaks OpenAI's chat completions: OpenAI itself, vLLM, llama.cpp, Ollama."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from pydantic import SecretStr

from skillopt_cli.backends.openai_errors import Place, detail, public_url, translated
from skillopt_cli.backends.openai_wire import (
    Sampling,
    read_reply,
    refused_parameter,
    request_body,
)
from skillopt_cli.core.errors import (
    BackendError,
    BackendUnusable,
    ConfigError,
    RequestRefused,
    ServerFailed,
)
from skillopt_cli.core.events import Role
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import BackendSpec, RoleSettings

if TYPE_CHECKING:
    import openai

NAME = "openai_compatible"
OPENAI_URL = "https://api.openai.com/v1"
# Servers without authentication still want the header; the SDK refuses to send none.
_NO_KEY = "no-key"


class OpenAICompatible:
    """A `ChatBackend` over the OpenAI SDK; also an async context manager that closes its client.

    The SDK's own retries are off: retrying is a wrapper's work. What a server refuses of the
    optional parameters is found out once per instance and not sent again.

    Attributes:
        refused: optional parameters the server did not take, so far.
    """

    offers = frozenset({"json_schema"})

    def __init__(self, client: openai.AsyncOpenAI, sampling: Sampling, place: Place) -> None:
        self.name = sampling.model
        self.fingerprint = json.dumps(
            {
                "backend": NAME,
                "base_url": place.url,
                "model": sampling.model,
                "max_tokens": sampling.max_tokens,
                "temperature": sampling.temperature,
                "reasoning_effort": sampling.reasoning_effort,
            },
            sort_keys=True,
        )
        self.refused: frozenset[str] = frozenset()
        self._client = client
        self._sampling = sampling
        self._place = place

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request; see `ports.ChatBackend` for the errors."""
        while True:
            body = request_body(request, self._sampling, self.refused)
            data, parameter = await self._post(body)
            if parameter is None:
                return read_reply(data, str(self._place))
            # Calls in flight may learn different refusals at the same time: they add up.
            self.refused |= {parameter}

    async def _post(self, body: dict[str, Any]) -> tuple[object, str | None]:
        """The decoded answer, or the name of the optional parameter the server refuses.

        Posts without the SDK's typed layer, which would take more time than all the rest.
        """
        import openai

        failure: BackendError
        try:
            return await self._client.post("/chat/completions", cast_to=object, body=body), None
        except openai.APIStatusError as error:
            if error.status_code in (400, 422):
                parameter = refused_parameter(str(error.param or ""), detail(error), body)
                if parameter is not None:
                    return None, parameter
            failure = translated(error, self._place)
        except openai.OpenAIError as error:
            failure = translated(error, self._place)
        except UnicodeEncodeError:
            failure = RequestRefused(f"the request for {self._place} is not valid Unicode")
        except ValueError:
            failure = ServerFailed(f"{self._place} answered with malformed JSON")
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


def open_openai_compatible(role: RoleSettings) -> OpenAICompatible:
    """The chat backend of a role. An empty base URL means OpenAI's own.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    url = role.base_url or OPENAI_URL
    if not _is_http(url):
        raise ConfigError(
            f"model.{role.role}.base_url `{public_url(url)}` is not an http or https address",
            "write it like http://127.0.0.1:8000/v1",
        )
    if not role.model:
        raise BackendUnusable(
            f"no model is named for the {role.role}",
            f"set model.{role.role}.name, --{role.role}-model or OPENAI_COMPATIBLE_MODEL",
        )
    key = role.api_key.get_secret_value().strip() if role.api_key else ""
    if not (key.isascii() and key.isprintable()):
        raise BackendUnusable(
            f"the key of the {role.role} holds characters that no HTTP header can carry",
            "check the variable named by api_key_env for stray characters",
        )
    # Importing the SDK takes about a second, which only a run that uses it should pay.
    import openai

    client = openai.AsyncOpenAI(
        api_key=key or _NO_KEY, base_url=url, max_retries=0, timeout=role.timeout
    )
    sampling = Sampling(
        role.model, role.max_completion_tokens, role.temperature, role.reasoning_effort
    )
    secret = SecretStr(key) if key else None
    templates = SPEC.variables["api_key_env"]
    variables = tuple(name.format(ROLE=role.role.upper()) for name in templates)
    place = Place(role.model, public_url(url), secret, variables)
    return OpenAICompatible(client, sampling, place)


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def missing(environment: Mapping[str, str]) -> str:
    """What is not set of an endpoint for both roles; "" when ready."""
    roles: tuple[Role, ...] = ("optimizer", "target")
    if all({"base_url", "api_key_env"} & SPEC.said(role, environment).keys() for role in roles):
        return ""
    return "OPENAI_COMPATIBLE_BASE_URL or OPENAI_API_KEY is not set"


SPEC = BackendSpec(
    name=NAME,
    summary="Any server that speaks OpenAI's chat completions",
    roles=frozenset(("optimizer", "target")),
    open=open_openai_compatible,
    requires="OPENAI_COMPATIBLE_BASE_URL, or OPENAI_API_KEY for OpenAI itself",
    missing=missing,
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
    },
)
