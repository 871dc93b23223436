"""The search provider that a benchmark's options name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from skillopt_cli.benchmarks.search.provider import SearchProvider
from skillopt_cli.benchmarks.search.service import CustomSearch, ServiceSettings
from skillopt_cli.benchmarks.search.shelf import KeptSearch, Shelf
from skillopt_cli.core.errors import ConfigError

SHELF = "search-cache.sqlite"


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
        """Which search engine it shall ask."""
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
        )
    )
    return KeptSearch(service, Shelf(data_root / SHELF))
