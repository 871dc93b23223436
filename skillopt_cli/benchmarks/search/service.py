"""A search service over HTTP: the published `custom_search` contract.

POST {"query", "max_num_results", "provider"} with the token as the Authorization header; results
come under one of several names.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from skillopt_cli.benchmarks.search.forms import hits_of
from skillopt_cli.benchmarks.search.provider import Hit
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendUnusable,
    ConfigError,
    NetworkFailed,
    RequestRefused,
    ServerFailed,
    TransientError,
)

if TYPE_CHECKING:
    import httpx2

_AGAIN = frozenset({408, 429})
_DENIED = frozenset({401, 403})
_SERVER = 500
_REDIRECT = 300
_REFUSED = 400


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Where the service is and how it is asked.

    Attributes:
        provider: which search engine the service shall ask, such as "duckduckgo".
        timeout: seconds per try.
        tries: how often at most a query is sent.
        pause: seconds before the second try; doubled before each further one.
    """

    url: str
    token: SecretStr | None = None
    provider: str = "duckduckgo"
    timeout: float = 20.0
    tries: int = 5
    pause: float = 1.0


class CustomSearch:
    """A `SearchProvider` that asks the service.

    Raises:
        ConfigError: the address is none, or a token would go over the network in the clear.
    """

    def __init__(
        self, settings: ServiceSettings, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        _check(settings)
        # The address may hold a key, so it is not spelt out where people read it.
        place = hashlib.sha256(settings.url.encode()).hexdigest()[:12]
        self.identity = f"custom_search/1:{place}:{settings.provider}"
        self._settings = settings
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
        return hits[:limit]

    async def _asked(self, query: str, limit: int) -> Any:
        import httpx2

        settings = self._settings
        body = {"query": query, "max_num_results": limit, "provider": settings.provider}
        token = settings.token
        headers = {"Authorization": token.get_secret_value()} if token else {}
        try:
            async with httpx2.AsyncClient(
                timeout=settings.timeout, transport=self._transport
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
    told = f"the search service answered {status}"
    if status in _DENIED:
        raise AuthFailed(told, "look at the token in the variable that `env.search_auth_env` names")
    if status in _AGAIN or status >= _SERVER:
        raise ServerFailed(told)
    if status < _REFUSED:
        # Followed, it would take query and token somewhere else.
        raise BackendUnusable(f"{told}, a redirect", "set env.search_api_url to where it leads")
    raise RequestRefused(told)


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
