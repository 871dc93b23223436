"""The SealQA benchmark: questions whose sources conflict, with a search, graded by a judge.

Data: Pham et al., "SealQA: Raising the Bar for Reasoning in Search-Augmented Language Models"
(2025).
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.answers import given_up
from skillopt_cli.benchmarks.judging import left_to_judge
from skillopt_cli.benchmarks.options import read_options
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.benchmarks.sealqa.evidence import (
    Pages,
    documents_of,
    evidence_data,
    results_text,
)
from skillopt_cli.benchmarks.sealqa.grading import clear_score, judged_score, question_for_judge
from skillopt_cli.benchmarks.sealqa.items import read_item
from skillopt_cli.benchmarks.sealqa.options import SealQAOptions
from skillopt_cli.benchmarks.sealqa.prepare import prepare
from skillopt_cli.benchmarks.sealqa.wording import (
    ANSWER,
    GIVEN,
    PROMPTS,
    ROLE,
    SEED_SKILL,
    WITH_SEARCH,
)
from skillopt_cli.benchmarks.search import (
    DocumentIndex,
    PageReader,
    SearchProvider,
    Shelf,
    search_offer,
)
from skillopt_cli.benchmarks.search.opening import SHELF, open_service
from skillopt_cli.benchmarks.splits import Splits, SplitTasks, TaskFormat, load_splits, squeezed
from skillopt_cli.benchmarks.tool_talk import ToolTalk
from skillopt_cli.benchmarks.toolbox import Offer
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Message, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec, Executor

NAME = "sealqa"
SAMPLE = Path(__file__).parent / "sample"


class SealQA(SplitTasks):
    """SealQA tasks; see `ports.Interactive` and `ports.Judged`.

    Args:
        search: finds things in the mode custom_search; None for an index of the task's documents.
        reader: fetches pages; None reads the task's own documents only.
    """

    name = NAME
    seed_skill = SEED_SKILL

    def __init__(
        self,
        splits: Splits,
        options: SealQAOptions,
        search: SearchProvider | None = None,
        reader: PageReader | None = None,
    ) -> None:
        self.version = options.version + ("" if search is None else f"-{search.identity}")
        super().__init__(splits)
        self.needs = frozenset({"tools"} if options.search_mode != "given" else ())
        self._options = options
        self._search = search
        self._reader = reader

    def brief(self, task: Task) -> Brief:
        """The question, what a search for it gave, and what is known about it."""
        data, options = task.data, self._options
        shown = results_text(data) if options.show_results else ""
        parts = (
            ("Question", data["question"]),
            ("Search results", shown),
            ("Addresses", "\n".join(data["urls"])),
            ("Freshness", data["freshness"]),
            ("Question types", ", ".join(data["types"])),
        )
        tools = self._offers(task)
        how = WITH_SEARCH.format(turns=options.max_tool_turns) if tools else GIVEN
        return Brief(
            task.id,
            ROLE,
            tuple(Section(title, text) for title, text in parts if text.strip()),
            f"{how}\n\n{ANSWER}",
            tools=tuple(offer.tool for offer in tools),
            max_turns=options.max_tool_turns if tools else 1,
        )

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[ToolTalk]:
        """The search over the task's documents; a reply without a call ends it."""
        index = _index(task) if self._search is None else None
        try:
            yield ToolTalk(self._offers(task, self._search or index))
        finally:
            if index is not None:
                index.close()

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The reference, after a search for the question where that costs nothing."""
        async with self.episode(task, executor) as talk:
            if self._options.search_mode == "offline":
                await talk.must("search", queries=[task.data["question"]])
            answer = f"<answer>{task.data['answers'][0]}</answer>"
            return Attempt(answer, outcome=await talk.outcome(answer))

    def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
        """The score of an answer that is clear, else what to ask."""
        data = task.data
        score = clear_score(attempt.answer, data["answers"])
        if score is not None:
            return score
        return question_for_judge(data["question"], data["answers"], attempt.answer)

    def hear_judge(self, task: Task, attempt: Attempt, reply: str) -> Score | None:
        """Right, wrong, or left open, as the judge says."""
        return judged_score(reply, attempt.answer, task.data["answers"])

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """The score where no judge is needed; 0 for what only a judge could find right."""
        wanted = tuple(task.data["answers"])
        if attempt.ending == "gave_up":
            return given_up(wanted, attempt.error)
        return clear_score(attempt.answer, wanted) or left_to_judge(wanted)

    def _offers(self, task: Task, search: SearchProvider | None = None) -> list[Offer[Any]]:
        options = self._options
        if options.search_mode == "given":
            return []
        pages = Pages(task.data, self._reader)
        found = search_offer(
            search or _index(task),
            results=options.search_max_num_results,
            queries=options.max_queries_per_turn,
            seen=pages.seen,
        )
        return [found, *pages.offers()]


def open_sealqa(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks.

    Raises:
        ConfigError: an option is unknown, malformed or cannot be served.
        DataError: a file or record is unusable; see `load_splits`.
    """
    options = read_options(SealQAOptions, request.options, NAME)
    splits = load_splits(request, NAME, TaskFormat(_task, _content), SAMPLE)
    search = reader = None
    if options.search_mode == "custom_search":
        search = open_service(options, request.data_root, read_environment())
        if search is None:
            raise ConfigError(
                "`env.search_mode` is `custom_search`, and no service is named",
                "set env.search_api_url, or search the tasks' own documents with offline",
            )
    if options.read_urls and options.search_mode == "given":
        raise ConfigError(
            "`env.read_urls` lets a tool read pages, and in the mode `given` there are no tools",
            "set env.search_mode=offline",
        )
    if options.read_urls:
        reader = PageReader(Shelf(request.data_root / SHELF), options.search_timeout_seconds)
    return SealQA(splits, options, search, reader)


def _task(record: Record) -> Task:
    item = read_item(record)
    data = {
        "question": item.question,
        "answers": list(item.answers),
        "freshness": item.freshness,
        "types": list(item.types),
        **evidence_data(item),
    }
    return Task(item.id, sys.intern(item.kind), data)


def _index(task: Task) -> DocumentIndex:
    return DocumentIndex(lambda: documents_of(task.data))


def _content(task: Task) -> str:
    """Question and answers, whatever their case and spacing: results may differ."""
    return squeezed([task.data["question"], *sorted(task.data["answers"])])


SPEC = BenchmarkSpec(
    name=NAME,
    summary="questions whose search results conflict, with a search of one's own (judged)",
    open=open_sealqa,
    options=SealQAOptions,
    modality=("text", "tools"),
    prepare=prepare,
    sample=SAMPLE,
    judged=True,
    prompts=PROMPTS,
)
