"""The `env.*` keys of OfficeQA."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any, Literal

from pydantic import Field, field_validator

from skillopt_cli.benchmarks.kit.options import BenchmarkOptions
from skillopt_cli.benchmarks.officeqa.scoring import Scoring, Tag

Mode = Literal["offline", "custom_search", "azure_search"]
_SHORT = {"custom": "custom_search", "azure": "azure_search"}
_SAME = {"data_dirs", "search_auth_env", "search_timeout_seconds"}
"""What alters no brief and no score: documents count by what they say."""
_SEARCHING = {
    "max_queries_per_turn",
    "search_api_url",
    "search_provider",
    "search_max_num_results",
}


class OfficeQAOptions(BenchmarkOptions):
    """The `env.*` keys of OfficeQA."""

    data_dirs: tuple[str, ...] = ()
    """Folders of documents, beside those that are found without being named."""
    search_mode: Mode = "offline"
    """offline, or custom_search for the tool search in the place of the documents."""
    use_local_tools: bool = True
    """Whether the offline mode offers glob, read and grep, or an agent the files themselves."""
    oracle_pages: bool = True
    """Whether the pages that hold the answer are shown, where parsed pages lie by the documents."""
    max_tool_turns: int = Field(24, ge=1)
    """Replies at most, the answer included."""
    max_queries_per_turn: int = Field(4, ge=1)
    """How many queries of one call of search are used."""
    search_api_url: str = ""
    """Address of a search service; empty searches an index of the task's own documents."""
    search_auth_env: str = "OFFICEQA_CUSTOM_SEARCH_AUTH"
    """Name of the variable that holds the service's token; empty sends none."""
    search_provider: str = "duckduckgo"
    """Which search engine the service asks."""
    search_max_num_results: int = Field(4, ge=1)
    """Hits per query."""
    search_timeout_seconds: float = Field(20.0, gt=0)
    """Seconds per try of the service."""
    scoring: Scoring = "published"
    """published compares normalised texts; numeric compares numbers with their units."""
    tolerance: str = Field("0", coerce_numbers_to_str=True)
    """How far a number may be off under scoring numeric: an amount, or a share such as 1%."""
    answer_tag: Tag = "last"
    """Which answer in tags counts: last, else the last line; or first as published, else none."""

    @field_validator("data_dirs", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in re.split(f"[,{os.pathsep}]", value) if part.strip())

    @field_validator("search_mode", mode="before")
    @classmethod
    def _long(cls, value: Any) -> Any:
        return _SHORT.get(value, value) if isinstance(value, str) else value

    @property
    def tooled(self) -> bool:
        """Whether the task's documents are there to be looked into."""
        return self.search_mode == "offline" and self.use_local_tools

    @property
    def version(self) -> str:
        """Of the benchmark under these options."""
        unused = _SEARCHING if self.search_mode == "offline" else set()
        content = self.model_dump_json(exclude=_SAME | unused)
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        tools = "" if self.search_mode != "offline" or self.use_local_tools else "-no-tools"
        oracle = "-oracle" if self.oracle_pages else ""
        return f"1-{self.search_mode}{tools}{oracle}-{self.scoring}-{digest}"
