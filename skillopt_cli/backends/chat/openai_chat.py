"""Azure OpenAI, with a key or an Azure identity; also OpenAI behind the same variables."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from skillopt_cli.backends.chat.chat_completions import Sampling
from skillopt_cli.backends.chat.dialects import (
    CHAT_COMPLETIONS,
    OPENAI_DIALECTS,
    RESPONSES,
    Dialect,
)
from skillopt_cli.backends.chat.endpoint import (
    ModelAddress,
    check_model,
    http_url,
    public_url,
    sendable_key,
    set_account,
    unset,
)
from skillopt_cli.backends.chat.http_chat import OFFERS, Connection, HttpChat
from skillopt_cli.backends.chat.openai_compatible import connect, openai_errors, sampling_of
from skillopt_cli.config.connection import client_arguments, connection_to
from skillopt_cli.core.errors import AuthFailed, ConfigError, NetworkFailed
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, Need, RoleSettings

if TYPE_CHECKING:
    from azure.identity import AzureCliCredential, ManagedIdentityCredential

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
Identity = Literal["azure_cli", "managed_identity"]

_HINTS: dict[Identity, str] = {
    "azure_cli": "run `az login`, or choose another model.auth_mode, such as api_key",
    "managed_identity": "run on an Azure machine that has an identity, name one of several in"
    " managed_identity_client_id, or choose another model.auth_mode, such as azure_cli",
}
_ROLE = "has the role `Cognitive Services OpenAI User` on the resource"
REFUSED: dict[Identity, str] = {
    "azure_cli": f"check that the account of `az account show` {_ROLE}",
    "managed_identity": f"check that the managed identity {_ROLE}",
}
"""What to check if the service refuses a valid token."""


class AzureTokens:
    """The tokens of one identity; each is cached until shortly before it expires.

    Args:
        scope: of the tokens.
        client_id: which of several managed identities; "" for the only one.
        place: for messages.
    """

    def __init__(
        self, identity: Identity, scope: str, client_id: str, address: ModelAddress
    ) -> None:
        self._identity: Identity = identity
        self._scope = scope
        self._client_id = client_id
        self._address = address
        self._credential: AzureCliCredential | ManagedIdentityCredential | None = None
        self._provider: Callable[[], str] | None = None
        # Many calls begin at once, and one token of the Azure CLI serves all of them.
        self._asking = asyncio.Lock()

    async def token(self) -> str:
        """Return a valid token.

        Raises:
            NetworkFailed: the token service cannot be reached.
            AuthFailed: it issues no token.
        """
        # The async credentials need a second HTTP library, so a thread runs the sync ones.
        from azure.core.exceptions import AzureError, ServiceRequestError, ServiceResponseError

        reached = True
        try:
            async with self._asking:
                token = await asyncio.to_thread(self._ask)
            self._address.secrets.learn(token, f"the token of {self._identity}")
            return token
        except (AzureError, ValueError, OSError) as error:
            reached = not isinstance(error, ServiceRequestError | ServiceResponseError)
            said = self._address.scrubbed(str(error))
        if not reached:
            raise NetworkFailed(
                f"{self._address} wants a token, and the service that gives them cannot be reached"
                f" ({said})"
            )
        raise AuthFailed(
            f"{self._address} wants a token, and auth_mode `{self._identity}` gives none ({said})",
            _HINTS[self._identity],
        )

    def _ask(self) -> str:
        from azure.identity import (
            AzureCliCredential,
            ManagedIdentityCredential,
            get_bearer_token_provider,
        )

        if self._provider is None:
            # The library logs each failure, which goes to stderr without a handler.
            azure = logging.getLogger("azure")
            if not azure.handlers:
                azure.addHandler(logging.NullHandler())
            self._credential = (
                AzureCliCredential()
                if self._identity == "azure_cli"
                else ManagedIdentityCredential(client_id=self._client_id or None)
            )
            self._provider = get_bearer_token_provider(self._credential, self._scope)
        return self._provider()

    def close(self) -> None:
        """Close connections."""
        if self._credential is not None:
            self._credential.close()


def dialect_for(api: str, model: str) -> Dialect[Sampling]:
    """Return the configured API, else the one that models of this name support."""
    if api in OPENAI_DIALECTS:
        return OPENAI_DIALECTS[api]
    only_responses = any(model == name or model.startswith(f"{name}-") for name in _ONLY_RESPONSES)
    return RESPONSES if only_responses else CHAT_COMPLETIONS


def open_openai_chat(role: RoleSettings) -> HttpChat:
    """Return the chat backend of a role; its model is the deployment's name.

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
        raise _ENDPOINT.error(role.role)
    sampling = sampling_of(role, new_cap=True)
    dialect = dialect_for(role.options.get("api", ""), role.model)
    if mode == "openai_compatible":
        return connect(role, SPEC, dialect, sampling)
    return _azure(role, mode, sampling, dialect)


def _azure(
    role: RoleSettings, mode: str, sampling: Sampling, dialect: Dialect[Sampling]
) -> HttpChat:
    url = http_url(role)
    check_model(role)
    key = sendable_key(role)
    if mode == "api_key" and not key:
        raise _KEY.error(role.role)
    # Importing the SDK takes about a second, so only a run that uses it does.
    import openai

    default = RESPONSES_API_VERSION if dialect is RESPONSES else API_VERSION
    version = role.options.get("api_version") or default
    identity = _IDENTITIES.get(mode)
    address = ModelAddress(
        role.model,
        public_url(url),
        bool(key) and identity is None,
        role.secrets,
        credentials=REFUSED[identity] if identity else "",
        key_from=role.key_from,
        connection=connection_to(url, role.environment),
    )
    tokens = identity and AzureTokens(
        identity,
        role.options.get("ad_scope") or AD_SCOPE,
        role.options.get("managed_identity_client_id") or "",
        address,
    )
    client = openai.AsyncAzureOpenAI(
        azure_endpoint=url,
        api_version=version,
        api_key=None if tokens else key,
        azure_ad_token_provider=tokens.token if tokens else None,
        max_retries=0,
        timeout=role.timeout,
        http_client=openai.DefaultAioHttpClient(**client_arguments(url, role.environment)),
    )
    set_account(client, role)
    facts = {"backend": NAME, "api": dialect.name, "api_version": version}
    close = tokens.close if tokens else lambda: None
    connection = Connection(client, openai_errors(), address, facts, close)
    return HttpChat(connection, dialect, sampling, role)


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

SPEC: BackendSpec = BackendSpec(
    name=NAME,
    summary="Azure OpenAI, with a key or an Azure identity, or OpenAI",
    roles=frozenset(("optimizer", "target")),
    open=open_openai_chat,
    requires="AZURE_OPENAI_ENDPOINT, and `az login`, AZURE_OPENAI_API_KEY or a managed identity",
    missing=lambda environment: unset(SPEC, environment, "AZURE_OPENAI_ENDPOINT"),
    needs=(_ENDPOINT, _KEY, MODEL_NAMED),
    honours=frozenset({
        "api",
        "auth_mode",
        "api_version",
        "ad_scope",
        "managed_identity_client_id",
    }),
    offers=OFFERS,
    homes=(".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"),
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
