"""The SealQA benchmark: questions whose sources conflict, with a search, graded by a judge.

Data: Pham et al., "SealQA: Raising the Bar for Reasoning in Search-Augmented Language Models"
(2025).
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from skillopt_cli.benchmarks.kit.benchmark import JudgedAnswers, ToolBenchmark
from skillopt_cli.benchmarks.kit.options import BenchmarkOptions
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.kit.tools import Offer, ToolLoop
from skillopt_cli.benchmarks.sealqa.evidence import (
    Pages,
    documents_of,
    results_text,
)
from skillopt_cli.benchmarks.sealqa.prepare import prepare
from skillopt_cli.benchmarks.sealqa.prompts import ANSWER, GIVEN, PROMPTS, WITH_SEARCH
from skillopt_cli.benchmarks.sealqa.scoring import clear_score
from skillopt_cli.benchmarks.sealqa.tasks import read_task
from skillopt_cli.benchmarks.search.cache import AnswerCache
from skillopt_cli.benchmarks.search.index import DocumentIndex
from skillopt_cli.benchmarks.search.pages import PageReader
from skillopt_cli.benchmarks.search.provider import SearchProvider
from skillopt_cli.benchmarks.search.service import CACHE_FILE, SERVICE, open_service
from skillopt_cli.benchmarks.search.tools import search_offer
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task
from skillopt_cli.ports import BenchmarkRequest, Executor

_SAME = {"search_auth_env", "search_timeout_seconds"}
"""What alters no brief and no score."""


class SealQAOptions(BenchmarkOptions):
    """The `env.*` keys of SealQA."""

    search_mode: Literal["given", "offline", "custom_search"] = "offline"
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
    """Which search engine the service asks."""
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


class SealQA(JudgedAnswers[SealQAOptions], ToolBenchmark[SealQAOptions]):
    """SealQA tasks; see `ports.Interactive` and `ports.Judged`."""

    name = "sealqa"
    prompts = PROMPTS
    options_type = SealQAOptions
    sample = Path(__file__).parent / "sample"
    verdicts = ("correct", "incorrect", "not_attempted")

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        options = self.options
        self.search = _open_search(options, request.data_root)
        self.reader = _open_reader(options, request.data_root)
        self.version = options.version + (f"-{self.search.identity}" if self.search else "")
        self.needs = frozenset({"tools"} if options.search_mode != "given" else ())
        self.max_turns = options.max_tool_turns

    def task(self, record: Record) -> Task:
        """Question, answers and evidence."""
        return read_task(record)

    def brief(self, task: Task) -> Brief:
        """The question with its evidence, and how to answer it."""
        brief = super().brief(task)
        how = WITH_SEARCH.format(turns=self.max_turns) if brief.tools else GIVEN
        return replace(brief, answer_format=f"{how}\n\n{ANSWER}")

    def sections(self, task: Task) -> Sequence[Section]:
        """The question, what a search for it gave, and what is known about it."""
        data = task.data
        parts = (
            ("Question", data["question"]),
            ("Search results", results_text(data) if self.options.show_results else ""),
            ("Addresses", "\n".join(data["urls"])),
            ("Freshness", data["freshness"]),
            ("Question types", ", ".join(data["types"])),
        )
        return [Section(title, text) for title, text in parts if text.strip()]

    def offers(self, task: Task, search: SearchProvider | None = None) -> Sequence[Offer[Any]]:
        """A search, and a reader of the pages that it names.

        Args:
            search: what is searched; None for an index of the task's documents.
        """
        options = self.options
        if options.search_mode == "given":
            return []
        pages = Pages(task.data, self.reader)
        found = search_offer(
            search or _index(task),
            results=options.search_max_num_results,
            queries=options.max_queries_per_turn,
            seen=pages.seen,
        )
        return [found, *pages.offers()]

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[ToolLoop]:
        """The search over the task's documents; a reply without a call ends it."""
        index = _index(task) if self.search is None else None
        try:
            yield ToolLoop(self.offers(task, self.search or index))
        finally:
            if index is not None:
                index.close()

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The reference, after a search for the question where that costs nothing."""
        async with self.episode(task, executor) as talk:
            if self.options.search_mode == "offline":
                await talk.must("search", queries=[task.data["question"]])
            answer = f"<answer>{task.data['answers'][0]}</answer>"
            return Attempt(answer, outcome=await talk.outcome(answer))

    def clear_score(self, task: Task, answer: str) -> Score | None:
        """The score of an empty answer, or of one that equals a reference but for its form."""
        return clear_score(answer, self.expected(task))


def _open_search(options: SealQAOptions, data_root: Path) -> SearchProvider | None:
    """The search service of the mode custom_search; None in the others.

    Raises:
        ConfigError: none is named, or its token is missing.
    """
    if options.search_mode != "custom_search":
        return None
    search = open_service(options, data_root, read_environment())
    if search is None:
        raise ConfigError(
            "`env.search_mode` is `custom_search`, and no service is named",
            "set env.search_api_url, or search the tasks' own documents with offline",
        )
    return search


def _open_reader(options: SealQAOptions, data_root: Path) -> PageReader | None:
    """What fetches pages from the network; None reads the task's own documents only.

    Raises:
        ConfigError: it is asked for in a mode without tools.
    """
    if not options.read_urls:
        return None
    if options.search_mode == "given":
        raise ConfigError(
            "`env.read_urls` lets a tool read pages, and in the mode `given` there are no tools",
            "set env.search_mode=offline",
        )
    return PageReader(
        AnswerCache(data_root / CACHE_FILE),
        options.search_timeout_seconds,
        environment=read_environment(),
    )


def _index(task: Task) -> DocumentIndex:
    return DocumentIndex(lambda: documents_of(task.data))


SPEC = SealQA.spec(
    "questions whose search results conflict, with a search of one's own (judged)",
    modality=("text", "tools"),
    prepare=prepare,
    services=(SERVICE,),
    judged=True,
)
