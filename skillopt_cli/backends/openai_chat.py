"""Azure OpenAI, with a key or an Azure identity; also OpenAI behind the same variables."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr

from skillopt_cli.backends.azure import REFUSED, Identity, Tokens
from skillopt_cli.backends.chat_completions import Sampling
from skillopt_cli.backends.endpoint import check_model, http_url, sendable_key, unambient
from skillopt_cli.backends.forms import CHAT_COMPLETIONS, FORMS, RESPONSES, Form
from skillopt_cli.backends.http_errors import Place, public_url
from skillopt_cli.backends.negotiation import Negotiation
from skillopt_cli.backends.openai_compatible import (
    OFFERS,
    Dialect,
    OpenAICompatible,
    connect,
    sampling_of,
)
from skillopt_cli.core.errors import BackendUnusable, ConfigError
from skillopt_cli.core.events import Role
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, Need, RoleSettings

NAME = "openai_chat"
AUTH_MODES = ("azure_cli", "api_key", "managed_identity", "openai_compatible")
API_VERSION = "2024-12-01-preview"
# Azure knows the Responses API only since 2025-03-01-preview.
RESPONSES_API_VERSION = "2025-04-01-preview"
AD_SCOPE = "https://cognitiveservices.azure.com/.default"
_IDENTITIES: dict[str, Identity] = {
    "azure_cli": "azure_cli",
    "managed_identity": "managed_identity",
}

_ONLY_RESPONSES = (
    "gpt-5-codex",
    "gpt-5.1-codex",
    "gpt-5.2-codex",
    "gpt-5.3-codex",
    "codex-mini",
    "gpt-5.4-pro",
)


def form_for(api: str, model: str) -> Form:
    """The interface to speak: the wanted one, else the one that takes a model of this name."""
    if api in FORMS:
        return FORMS[api]
    only_responses = any(model == name or model.startswith(f"{name}-") for name in _ONLY_RESPONSES)
    return RESPONSES if only_responses else CHAT_COMPLETIONS


def open_openai_chat(role: RoleSettings) -> OpenAICompatible:
    """The chat backend of a role; its base URL is the endpoint, its model the deployment's name.

    Raises:
        ConfigError: the endpoint is not an http or https address, or the auth mode is unknown.
        BackendUnusable: endpoint, model or key is missing, or the key cannot be sent.
    """
    mode = role.options.get("auth_mode") or AUTH_MODES[0]
    if mode not in AUTH_MODES:
        raise ConfigError(
            f"model.{role.role}.auth_mode `{mode}` is unknown", f"one of {', '.join(AUTH_MODES)}"
        )
    if not role.base_url:
        words = {"role": role.role, "ROLE": role.role.upper()}
        raise BackendUnusable(_ENDPOINT.lack.format(**words), _ENDPOINT.hint.format(**words))
    sampling = sampling_of(role, new_cap=True)
    form = form_for(role.options.get("api", ""), role.model)
    if mode == "openai_compatible":
        return connect(role, sampling, Dialect(NAME, form), SPEC.variables["api_key_env"])
    return _azure(role, mode, sampling, form)


def _azure(role: RoleSettings, mode: str, sampling: Sampling, form: Form) -> OpenAICompatible:
    url = http_url(role)
    check_model(role)
    key = sendable_key(role)
    if mode == "api_key" and not key:
        words = {"role": role.role, "ROLE": role.role.upper()}
        raise BackendUnusable(_KEY.lack.format(**words), _KEY.hint.format(**words))
    # Importing the SDK takes about a second, which only a run that uses it should pay.
    import openai

    default = RESPONSES_API_VERSION if form is RESPONSES else API_VERSION
    version = role.options.get("api_version") or default
    identity = _IDENTITIES.get(mode)
    place = Place(
        role.model,
        public_url(url),
        SecretStr(key) if key and identity is None else None,
        credentials=REFUSED[identity] if identity else "",
        key_from=role.key_from,
    )
    tokens = identity and Tokens(
        identity,
        role.options.get("ad_scope") or AD_SCOPE,
        role.options.get("managed_identity_client_id") or "",
        place,
    )
    client = openai.AsyncAzureOpenAI(
        azure_endpoint=url,
        api_version=version,
        api_key=None if tokens else key,
        azure_ad_token_provider=tokens.token if tokens else None,
        max_retries=0,
        timeout=role.timeout,
    )
    unambient(client, role)
    negotiation = Negotiation(role.refused, role.on_refused)
    backend = OpenAICompatible(client, sampling, place, Dialect(NAME, form, version), negotiation)
    return backend.closing(tokens.close) if tokens else backend


def missing(environment: Mapping[str, str]) -> str:
    """What is not set of an endpoint for both roles; "" when ready."""
    roles: tuple[Role, ...] = ("optimizer", "target")
    if all("base_url" in SPEC.said(role, environment) for role in roles):
        return ""
    return "AZURE_OPENAI_ENDPOINT is not set"


def _names(setting: str) -> tuple[str, ...]:
    return (
        f"{{ROLE}}_AZURE_OPENAI_{setting}",
        f"AZURE_OPENAI_{{ROLE}}_{setting}",
        f"AZURE_OPENAI_{setting}",
    )


_ENDPOINT = Need(
    ("base_url",),
    "no Azure OpenAI endpoint is configured for the {role}",
    "set AZURE_OPENAI_ENDPOINT or model.base_url; for any other server choose the backend"
    " openai_compatible",
)
_KEY = Need(
    ("api_key_env",),
    "auth_mode `api_key` wants a key for the {role}, and none is given",
    "set AZURE_OPENAI_API_KEY, or choose another model.auth_mode, such as azure_cli",
    when={"auth_mode": ("api_key",)},
)

SPEC = BackendSpec(
    name=NAME,
    summary="Azure OpenAI, with a key or an Azure identity, or OpenAI",
    roles=frozenset(("optimizer", "target")),
    open=open_openai_chat,
    requires="AZURE_OPENAI_ENDPOINT, and `az login`, AZURE_OPENAI_API_KEY or a managed identity",
    missing=missing,
    needs=(_ENDPOINT, _KEY, MODEL_NAMED),
    honours=frozenset({
        "api",
        "auth_mode",
        "api_version",
        "ad_scope",
        "managed_identity_client_id",
    }),
    offers=OFFERS,
    prices="azure",
    variables={
        "base_url": _names("ENDPOINT"),
        "api_version": _names("API_VERSION"),
        "api_key_env": _names("API_KEY"),
        "auth_mode": _names("AUTH_MODE"),
        "ad_scope": _names("AD_SCOPE"),
        "managed_identity_client_id": _names("MANAGED_IDENTITY_CLIENT_ID"),
        "name": ("{ROLE}_DEPLOYMENT",),
    },
)
