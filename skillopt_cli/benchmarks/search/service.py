"""A search service over HTTP: the published `custom_search` contract.

POST {"query", "max_num_results", "provider"} with the token as the Authorization header; results
come under one of several names.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from pydantic import SecretStr
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from skillopt_cli.benchmarks.search.cache import AnswerCache, CachedSearch
from skillopt_cli.benchmarks.search.provider import Hit, SearchProvider, hits_of
from skillopt_cli.config.connection import client_arguments
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendUnusable,
    ConfigError,
    NetworkFailed,
    RequestRefused,
    ServerFailed,
    TransientError,
)
from skillopt_cli.core.secrets import Secrets, hidden
from skillopt_cli.ports import Service

if TYPE_CHECKING:
    import httpx2

CACHE_FILE = "search-cache.sqlite"
SERVICE = Service("search_api_url", "search_auth_env", {"search_mode": "custom_search"})
"""The options of a benchmark that configure it."""
_AGAIN = frozenset({408, 429})
_DENIED = frozenset({401, 403})
_SERVER = 500
_REDIRECT = 300
_REFUSED = 400


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Where the service is and how it is asked.

    Attributes:
        provider: which search engine the service asks, such as "duckduckgo".
        timeout: seconds per try.
        tries: how often at most a query is sent.
        pause: seconds before the second try; doubled before each further one.
        environment: variables that name a proxy and certificates.
    """

    url: str
    token: SecretStr | None = None
    provider: str = "duckduckgo"
    timeout: float = 20.0
    tries: int = 5
    pause: float = 1.0
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


class CustomSearch:
    """A `SearchProvider` that asks the service.

    Raises:
        ConfigError: the address is none, or a token would go over the network in the clear.
    """

    def __init__(
        self, settings: ServiceSettings, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        _check(settings)
        place = hashlib.sha256(settings.url.encode()).hexdigest()[:12]
        self.identity = f"custom_search/1:{place}:{settings.provider}"
        self._settings = settings
        self._secrets = Secrets()
        if settings.token is not None:
            for word in settings.token.get_secret_value().split():
                self._secrets.learn(word, "the token of the search service")
        self._transport = transport

    async def search(self, query: str, limit: int) -> Sequence[Hit]:
        """What the service finds.

        Raises:
            AuthFailed: the token is refused.
            TransientError: it could not be reached or failed, several times.
            RequestRefused, BackendUnusable: it does not take the query, or does not speak the
                contract.
        """
        settings = self._settings
        tries = AsyncRetrying(
            retry=retry_if_exception_type(TransientError),
            stop=stop_after_attempt(settings.tries),
            wait=wait_exponential(multiplier=settings.pause),
            reraise=True,
        )
        async for attempt in tries:
            with attempt:
                answer = await self._asked(query, limit)
        hits = hits_of(answer)
        if hits is None:
            raise BackendUnusable("the search service's answer holds no list of results")
        # They are kept, in a file that several runs share.
        return hidden(hits[:limit], self._secrets.hide)

    async def _asked(self, query: str, limit: int) -> Any:
        import httpx2

        settings = self._settings
        body = {"query": query, "max_num_results": limit, "provider": settings.provider}
        token = settings.token
        headers = {"Authorization": token.get_secret_value()} if token else {}
        try:
            async with httpx2.AsyncClient(
                timeout=settings.timeout,
                transport=self._transport,
                **client_arguments(settings.url, settings.environment),
            ) as client:
                answer = await client.post(settings.url, json=body, headers=headers)
        except httpx2.HTTPError as error:
            raise NetworkFailed(
                f"the search service could not be reached: {type(error).__name__}"
            ) from error
        _raise_for(answer.status_code)
        try:
            return answer.json()
        except ValueError as error:
            raise ServerFailed("the search service answered something that is not JSON") from error


def _raise_for(status: int) -> None:
    if status < _REDIRECT:
        return
    fault = f"the search service answered {status}"
    if status in _DENIED:
        raise AuthFailed(
            fault, "look at the token in the variable that `env.search_auth_env` names"
        )
    if status in _AGAIN or status >= _SERVER:
        raise ServerFailed(fault)
    if status < _REFUSED:
        # Followed, it would take query and token somewhere else.
        raise BackendUnusable(f"{fault}, a redirect", "set env.search_api_url to where it leads")
    raise RequestRefused(fault)


def _check(settings: ServiceSettings) -> None:
    parts = urlsplit(settings.url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError("`env.search_api_url` is not an address", "such as https://host/search")
    if settings.token is not None and parts.scheme == "http" and not _is_here(parts.hostname):
        raise ConfigError(
            "`env.search_api_url` is plain http, and the token would be readable on its way",
            "use an https address",
        )


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class SearchOptions(Protocol):
    """The options that say which service is asked, and how."""

    @property
    def search_api_url(self) -> str:
        """Its address; empty for none."""
        ...

    @property
    def search_auth_env(self) -> str:
        """The variable that holds its token; empty for a service without one."""
        ...

    @property
    def search_provider(self) -> str:
        """Which search engine it asks."""
        ...

    @property
    def search_timeout_seconds(self) -> float:
        """Seconds per try."""
        ...


def open_service(
    options: SearchOptions, data_root: Path, environment: Mapping[str, str]
) -> SearchProvider | None:
    """The service, with what it finds kept under `data_root`; None where none is named.

    Raises:
        ConfigError: its token is not set, or would go over the network in the clear.
    """
    if not options.search_api_url:
        return None
    name = options.search_auth_env
    if name and name not in environment:
        raise ConfigError(
            f"the variable {name}, which holds the token of the search service, is not set",
            "set it, or set env.search_auth_env to nothing where the service wants no token",
        )
    service = CustomSearch(
        ServiceSettings(
            options.search_api_url,
            SecretStr(environment[name]) if name else None,
            options.search_provider,
            options.search_timeout_seconds,
            environment=environment,
        )
    )
    return CachedSearch(service, AnswerCache(data_root / CACHE_FILE))
