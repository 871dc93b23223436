"""The section `model`: which models play the roles, how each is reached, and what it costs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails

from skillopt_cli.config.section import Setting, SettingsSection
from skillopt_cli.config.validation_messages import within
from skillopt_cli.plugins import backend_options

ADDRESS = Setting(special=True, free_in_replay=True)
"""Where and how a model is reached, which does not alter what it answers."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_KEY_PARAMETER = re.compile(r"[?&][^=&]*(?:key|token|secret|password|sig)[^=&]*=", re.IGNORECASE)


def address_fault(url: str) -> str:
    """What is wrong with a base URL, to be put behind its name; "" when nothing is."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        quoted = url[:1] in "'\"" and url[:1] == url[-1:] != ""
        return f"must be an http or https address{', without quotes' * quoted}"
    if "?" in url or "#" in url:
        # Calls would not send it. Azure's version has a setting of its own.
        return "must end before its `?` or `#`; the version of an interface is model.api_version"
    return ""


class Endpoint(SettingsSection):
    """How to reach a model: shared values, which each role may override."""

    backend: Annotated[
        str | None, Setting(order=3, brief="Backend of the {name}.", flag="{section}-backend")
    ] = None
    """Backend's name, see `skillopt backends list`."""
    base_url: str | None = None
    """Where the model's server listens, such as http://127.0.0.1:8000/v1."""
    api_key_env: Annotated[str | None, Setting(free_on_resume=True, secret=True)] = None
    """Name of the environment variable that holds the key; never the key itself."""
    reasoning_effort: str | None = None
    """low, medium, high, xhigh or max; left out of requests when unset."""
    temperature: float | Literal["server_default"] | None = None
    """Sampling temperature, 0 to 2; left out of requests when unset. The backends `qwen_chat` and
    `minimax_chat` then send 0.7, and none with server_default."""
    max_completion_tokens: int | None = Field(None, ge=1)
    """Maximum length of an answer, in tokens (16384 when unset)."""
    timeout: Annotated[float | None, Setting(free_on_resume=True)] = Field(None, gt=0)
    """Seconds one call may take (120 when unset)."""
    api: Annotated[
        Literal["auto", "chat_completions", "responses"] | None, Setting(special=True)
    ] = None
    """Which of OpenAI's two interfaces is used; auto (unset) chooses by the model's name."""
    auth_mode: Annotated[
        Literal["azure_cli", "api_key", "managed_identity", "openai_compatible"] | None, ADDRESS
    ] = None
    """How `openai_chat` authenticates: azure_cli (when unset), api_key or managed_identity; or
    openai_compatible, for a server with OpenAI's own interface at the endpoint's address."""
    api_version: Annotated[str | None, ADDRESS] = None
    """Azure OpenAI's interface version (2024-12-01-preview when unset)."""
    ad_scope: Annotated[str | None, ADDRESS] = None
    """What an Azure token is for (https://cognitiveservices.azure.com/.default when unset)."""
    managed_identity_client_id: Annotated[str | None, ADDRESS] = None
    """Which of several managed identities to use."""
    thinking: Annotated[
        Literal["server_default", "enabled", "disabled"] | None, Setting(special=True)
    ] = None
    """Whether a model that can think first does so (true and false mean the same); by default
    (unset) its server chooses."""
    region: Annotated[Literal["global_en", "cn_zh"] | None, ADDRESS] = None
    """Which of MiniMax's two addresses is used (global_en when unset)."""

    @field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, value: str | None) -> str | None:
        if value and (not _VARIABLE.match(value) or _random_looking(value)):
            raise ValueError("must be the name of an environment variable, not the key itself")
        return value

    @field_validator("temperature", mode="before")
    @classmethod
    def _is_a_temperature(cls, value: Any) -> Any:
        if value is None or value == "server_default":
            return value
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and 0 <= value <= 2):
            raise ValueError("must be a number from 0 to 2, or server_default")
        return value

    @field_validator("thinking", mode="before")
    @classmethod
    def _read_a_switch(cls, value: Any) -> Any:
        # Variables that switch thinking on and off hold truth values.
        return ("enabled" if value else "disabled") if isinstance(value, bool) else value

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value and ("@" in value.split("?")[0] or _KEY_PARAMETER.search(value)):
            raise ValueError("must not hold credentials; name their variable in api_key_env")
        if value and (fault := address_fault(value.strip())):
            raise ValueError(fault)
        return value and value.strip()


def _random_looking(name: str) -> bool:
    """Whether a part of a name is long and mixes cases or digits, as keys do and names do not."""
    return any(
        len(part) >= 16 and not (part.isalpha() and (part.isupper() or part.islower()))
        for part in name.split("_")
    )


class RoleConfig(Endpoint):
    """One role's model. A plain string is read as the name."""

    name: Annotated[str | None, Setting(order=1, brief="{section}", flag="{section}-model")] = None
    """Name of the model, as its server expects it."""


class RetryConfig(SettingsSection):
    """How failed calls are tried again. Only transient failures are."""

    max_attempts: int = Field(8, ge=1)
    """Tries per call, the first included; 1 turns retries off. A 429 uses up time only."""
    base_seconds: float = Field(0.2, ge=0)
    """First wait; doubles each time, with jitter. A server's Retry-After wins."""
    max_seconds: float = Field(30.0, ge=0)
    """Longest single wait, in seconds, unless the server asks for more."""
    total_seconds: float = Field(600.0, gt=0)
    """Seconds after its first failure until which a call is tried again."""


class PriceConfig(SettingsSection):
    """What a model costs, in US dollars per million tokens; wins over the price table."""

    model: str
    """Name of the model, as its server expects it."""
    input: float = Field(ge=0)
    """Tokens read."""
    output: float = Field(ge=0)
    """Tokens written, those of reasoning included."""
    cached_input: float | None = Field(None, ge=0)
    """Tokens read from the service's cache; as `input` when unset."""
    cache_write: float | None = Field(None, ge=0)
    """Tokens written into the service's cache; as `input` when unset."""


class ModelConfig(Endpoint):
    """Which models play the roles. Values here are shared; a role's own value wins.

    A backend may add a section of its own, `model.<backend>`. Those that differ from their defaults
    are among the extra fields; `section` gives any of them.
    """

    model_config = ConfigDict(extra="allow")

    optimizer: Annotated[
        RoleConfig,
        Setting(brief="Model that proposes edits.", flag="--optimizer", group="optimizer"),
    ] = RoleConfig()
    """The model that reads trajectories and proposes edits."""
    target: Annotated[
        RoleConfig,
        Setting(brief="Frozen model whose skill is trained.", flag="--target", group="target"),
    ] = RoleConfig()
    """The frozen model whose skill is trained."""
    judge: RoleConfig = RoleConfig()
    """The model that judges answers, for benchmarks that need one; unset takes the optimizer."""
    retry: Annotated[RetryConfig, Setting(free_on_resume=True)] = RetryConfig()
    """Retries of failed calls."""
    outage_wait: Annotated[float, Setting(free_on_resume=True)] = Field(600.0, ge=0)
    """Seconds that calls wait, without using up tries, while a model that has answered before
    answers nothing but failures. 0 does not wait, and neither does a call without retries."""
    prices: Annotated[tuple[PriceConfig, ...], Setting(free_on_resume=True)] = ()
    """Prices of models that the price table lacks or gets wrong, one mapping each."""

    @model_validator(mode="before")
    @classmethod
    def _read_backends_sections(cls, values: Any) -> Any:
        """Validate the sections that backends declare."""
        if not isinstance(values, Mapping):
            return values
        read = {name: value for name, value in values.items() if name in cls.model_fields}
        faults: list[InitErrorDetails] = []
        for name in values.keys() - read.keys():
            section = backend_options(name)
            try:
                found = values[name] if section is None else section.model_validate(values[name])
            except ValidationError as error:
                faults += within(error, name)
                continue
            if section is None:
                fault = InitErrorDetails(type="extra_forbidden", loc=(name,), input=found)
                faults.append(fault)
            elif found != section():
                read[name] = found
        if faults:
            raise ValidationError.from_exception_data(cls.__name__, faults, hide_input=True)
        return read

    @field_validator("optimizer", "target", "judge", mode="before")
    @classmethod
    def _read_a_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    def section(self, backend: str) -> BaseModel | None:
        """The section of a backend, `model.<backend>`; None for a backend that declares none."""
        found = (self.model_extra or {}).get(backend)
        if found is None:
            options = backend_options(backend)
            return options() if options else None
        assert isinstance(found, BaseModel)
        return found
