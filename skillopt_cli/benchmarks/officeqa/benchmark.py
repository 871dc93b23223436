"""The OfficeQA benchmark: figures looked up in documents, with tools over real files.

Data: Databricks, "OfficeQA: A Benchmark for Grounded Reasoning" (2025).
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.answers import given_up
from skillopt_cli.benchmarks.document_roots import DocumentRoots
from skillopt_cli.benchmarks.files_tools import FileTools
from skillopt_cli.benchmarks.numeric import parse_tolerance
from skillopt_cli.benchmarks.officeqa.documents import WHERE, open_documents
from skillopt_cli.benchmarks.officeqa.items import Item, read_item
from skillopt_cli.benchmarks.officeqa.options import OfficeQAOptions
from skillopt_cli.benchmarks.officeqa.pages import ParsedPages
from skillopt_cli.benchmarks.officeqa.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.officeqa.scorer import AnswerScorer
from skillopt_cli.benchmarks.officeqa.wording import (
    ANSWER,
    CORPUS,
    PROMPTS,
    ROLE,
    SEED_SKILL,
    WITH_FILES,
    WITH_SEARCH,
)
from skillopt_cli.benchmarks.options import read_options
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.benchmarks.search import Document, DocumentIndex, SearchProvider, search_offer
from skillopt_cli.benchmarks.search.opening import open_service
from skillopt_cli.benchmarks.splits import Splits, SplitTasks, TaskFormat, load_splits, squeezed
from skillopt_cli.benchmarks.tool_talk import ToolTalk
from skillopt_cli.benchmarks.toolbox import Offer
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec, Executor

NAME = "officeqa"
SAMPLE = Path(__file__).parent / "sample"
MOST_LISTED = 20


class OfficeQA(SplitTasks):
    """OfficeQA tasks; see `ports.Interactive`.

    Args:
        search: finds things in the mode custom_search; None for an index of the task's documents.
    """

    name = NAME
    seed_skill = SEED_SKILL

    def __init__(
        self,
        splits: Splits,
        documents: DocumentRoots,
        options: OfficeQAOptions,
        search: SearchProvider | None = None,
    ) -> None:
        super().__init__(splits)
        found = "" if search is None else f"-{search.identity}"
        self.version = options.version + found
        self.source += _about(options)
        self.needs = _needs(options)
        self._documents = documents
        self._pages = ParsedPages(documents.roots)
        self._options = options
        self._search = search
        self._scorer = AnswerScorer(
            options.scoring, parse_tolerance(options.tolerance), options.answer_tag
        )

    def brief(self, task: Task) -> Brief:
        """The question, its pages where they are shown, and which documents there are."""
        data, options = task.data, self._options
        sections = [Section("Question", data["question"])]
        if data["pages"] and (pages := self._pages.text([(f, p) for f, p in data["pages"]])):
            sections.append(Section("Parsed pages", pages))
        if options.tooled:
            sections.append(Section("Documents", self._listed(data)))
        if data["hints"]:
            sections.append(Section("Source hints", "\n".join(data["hints"])))
        how = {True: WITH_FILES, options.search_mode == "custom_search": WITH_SEARCH}
        tools = self._offers(task)
        told = (how[True].format(turns=options.max_tool_turns),) if tools else ()
        return Brief(
            task.id,
            ROLE,
            tuple(sections),
            "\n\n".join((*told, ANSWER)),
            tools=tuple(offer.tool for offer in tools),
            max_turns=options.max_tool_turns if tools else 1,
            files=self._documents.task_files(data["documents"]) if options.tooled else (),
        )

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[ToolTalk]:
        """The tools over the task's documents; a reply without a call ends it."""
        index = self._index(task) if self._search is None else None
        try:
            yield ToolTalk(self._offers(task, self._search or index))
        finally:
            if index is not None:
                index.close()

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The reference, once each document of the task was really read."""
        async with self.episode(task, executor) as talk:
            for name in task.data["documents"] if self._options.tooled else ():
                await talk.must("read", path=name, limit=1)
            answer = f"<answer>{task.data['answer']}</answer>"
            return Attempt(answer, outcome=await talk.outcome(answer))

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """See `scorer`; 0 for giving up."""
        reference = task.data["answer"]
        if attempt.ending == "gave_up":
            return given_up((reference,), attempt.error)
        return self._scorer.score(attempt.answer, reference)

    def _offers(self, task: Task, search: SearchProvider | None = None) -> list[Offer[Any]]:
        options = self._options
        if options.tooled:
            return list(FileTools(self._documents, list(task.data["documents"])).offers())
        if options.search_mode == "offline":
            return []
        return [
            search_offer(
                search or self._index(task),
                results=options.search_max_num_results,
                queries=options.max_queries_per_turn,
            )
        ]

    def _index(self, task: Task) -> DocumentIndex:
        names = list(task.data["documents"])
        return DocumentIndex(lambda: [Document(n, self._documents.text(n)) for n in names])

    def _listed(self, data: Mapping[str, Any]) -> str:
        names = list(data["documents"])
        if not data["named"]:
            return CORPUS.format(n=len(names))
        more = len(names) - MOST_LISTED
        return "\n".join([*names[:MOST_LISTED], *([f"({more} more)"] if more > 0 else [])])


def open_officeqa(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks and look at their documents.

    Raises:
        ConfigError: an option is unknown, malformed or cannot be served.
        DataError: a file or record is unusable, or a task's document is missing.
    """
    options = read_options(OfficeQAOptions, request.options, NAME)
    environment = read_environment()
    if options.search_mode == "azure_search":
        raise ConfigError(
            "`env.search_mode` is `azure_search`, and no backend offers a service's own web search",
            "use custom_search with env.search_api_url, or offline",
        )
    search = None
    if options.search_mode == "custom_search":
        search = open_service(options, request.data_root, environment)
    _check_tolerance(options.tolerance)
    items: dict[str, tuple[Item, Record]] = {}

    def make(record: Record) -> Task:
        item = read_item(record)
        items[item.id] = (item, record)
        return Task(
            item.id, sys.intern(item.kind), {"question": item.question, "answer": item.answer}
        )

    splits = load_splits(request, NAME, TaskFormat(make, _content), SAMPLE)
    files = list(dict.fromkeys(record.path for _, record in items.values()))
    documents = open_documents(options.data_dirs, files, request.data_root, environment)
    laid = _Laid(options, documents)
    tasks = {
        split: tuple(laid.task(*items[task.id]) for task in part)
        for split, part in splits.tasks.items()
    }
    return OfficeQA(Splits(splits.source, tasks, splits.left_out), documents, options, search)


class _Laid:
    """Items as tasks that hold the digests of their documents."""

    def __init__(self, options: OfficeQAOptions, documents: DocumentRoots) -> None:
        self._options = options
        self._documents = documents
        self._pages = ParsedPages(documents.roots)

    def task(self, item: Item, record: Record) -> Task:
        """An item as a task; what its brief or its tools could show is part of its data."""
        pages = item.pages if self._options.oracle_pages else ()
        parsed = {file: self._pages.digest(file) for file in dict.fromkeys(f for f, _ in pages)}
        data = {
            "question": item.question,
            "answer": item.answer,
            "named": bool(item.files),
            "documents": {name: self._documents.digest(name) for name in self._names(item, record)},
            "pages": [[file, page] for file, page in pages if parsed[file]],
            "parsed": parsed,
            "hints": list(item.hints),
        }
        return Task(item.id, sys.intern(item.kind), data)

    def _names(self, item: Item, record: Record) -> Sequence[str]:
        options = self._options
        if not (
            options.tooled or (options.search_mode != "offline" and not options.search_api_url)
        ):
            return ()
        if not self._documents.names:
            raise record.fault("there is no folder of documents for its question", WHERE)
        names: list[str] = []
        for file in item.files:
            found = self._documents.called(file)
            if not found:
                raise record.fault(f"its document `{file}` is in no folder of documents", WHERE)
            names += found
        return names or self._documents.names


def _needs(options: OfficeQAOptions) -> frozenset[str]:
    if options.search_mode != "offline":
        return frozenset({"tools"})
    return frozenset({"tools|workspace"}) if options.use_local_tools else frozenset()


def _about(options: OfficeQAOptions) -> str:
    """What of the options a reader of the results must know."""
    told = {"offline": "" if options.use_local_tools else "without tools"}
    words = [told.get(options.search_mode, f"mode {options.search_mode}")]
    words.append("pages of the answer shown" if options.oracle_pages else "no pages shown")
    return "; " + ", ".join(word for word in words if word)


def _check_tolerance(tolerance: str) -> None:
    try:
        parse_tolerance(tolerance)
    except ValueError as error:
        raise ConfigError(f"`env.tolerance`: {error}") from None


def _content(task: Task) -> str:
    """Question and answer, whatever their case and spacing."""
    return squeezed([task.data["question"], task.data["answer"]])


SPEC = BenchmarkSpec(
    name=NAME,
    summary="figures looked up in long documents with file tools, or searched for",
    open=open_officeqa,
    options=OfficeQAOptions,
    modality=("text", "tools"),
    sizes=COUNTS,
    prepare=prepare,
    sample=SAMPLE,
    prompts=PROMPTS,
)
