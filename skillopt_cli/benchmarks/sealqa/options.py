"""The `env.*` keys of SealQA."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from pydantic import Field, field_validator

from skillopt_cli.benchmarks.options import BenchmarkOptions

Mode = Literal["given", "offline", "custom_search"]
_SAME = {"search_auth_env", "search_timeout_seconds"}


class SealQAOptions(BenchmarkOptions):
    """The `env.*` keys of SealQA."""

    search_mode: Mode = "offline"
    """given: results in the brief and no tools; offline: search the task's own documents too;
    custom_search: search with a service."""
    show_results: bool = True
    """Whether the brief holds the search results that come with a task."""
    read_urls: bool = False
    """Whether read_page may fetch pages from the network, if a task or a search names them."""
    max_tool_turns: int = Field(12, ge=1)
    """Replies at most, the answer included."""
    max_queries_per_turn: int = Field(4, ge=1)
    """How many queries of one call of search are used."""
    search_api_url: str = ""
    """Address of the search service of custom_search."""
    search_auth_env: str = "SEALQA_SEARCH_AUTH"
    """Name of the variable that holds the service's token; empty sends none."""
    search_provider: str = "duckduckgo"
    """Which search engine the service shall ask."""
    search_max_num_results: int = Field(4, ge=1)
    """Hits per query."""
    search_timeout_seconds: float = Field(20.0, gt=0)
    """Seconds per try of the service, and per page."""

    @field_validator("search_mode", mode="before")
    @classmethod
    def _long(cls, value: Any) -> Any:
        return "custom_search" if value == "custom" else value

    @property
    def version(self) -> str:
        """Of the benchmark under these options."""
        digest = hashlib.sha256(self.model_dump_json(exclude=_SAME).encode()).hexdigest()[:12]
        return f"1-{self.search_mode}{'' if self.show_results else '-bare'}-{digest}"
