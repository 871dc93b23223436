"""The OfficeQA benchmark: figures looked up in documents, with tools over real files.

Data: Databricks, "OfficeQA: A Benchmark for Grounded Reasoning" (2025).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.kit.benchmark import ToolBenchmark
from skillopt_cli.benchmarks.kit.document_roots import DocumentRoots
from skillopt_cli.benchmarks.kit.file_tools import FileTools
from skillopt_cli.benchmarks.kit.numbers import Tolerance, parse_tolerance
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.kit.splits import Splits
from skillopt_cli.benchmarks.kit.tools import Offer, ToolLoop
from skillopt_cli.benchmarks.officeqa.documents import WHERE, ParsedPages, open_documents
from skillopt_cli.benchmarks.officeqa.options import OfficeQAOptions
from skillopt_cli.benchmarks.officeqa.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.officeqa.prompts import (
    ANSWER,
    CORPUS,
    PROMPTS,
    WITH_FILES,
    WITH_SEARCH,
)
from skillopt_cli.benchmarks.officeqa.scoring import AnswerScorer, normalise
from skillopt_cli.benchmarks.officeqa.tasks import pages_of, read_task
from skillopt_cli.benchmarks.search.index import Document, DocumentIndex
from skillopt_cli.benchmarks.search.provider import SearchProvider
from skillopt_cli.benchmarks.search.service import SERVICE, open_service
from skillopt_cli.benchmarks.search.tools import search_offer
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task, TaskFile
from skillopt_cli.ports import BenchmarkRequest, Executor

MOST_LISTED = 20


class OfficeQA(ToolBenchmark[OfficeQAOptions]):
    """OfficeQA tasks; see `ports.Interactive`."""

    name = "officeqa"
    prompts = PROMPTS
    options_type = OfficeQAOptions
    sample = Path(__file__).parent / "sample"

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        options = self.options
        self.search = _open_search(options, request.data_root)
        self.version = options.version + (f"-{self.search.identity}" if self.search else "")
        self.needs = _needs(options)
        self.max_turns = options.max_tool_turns
        self._scorer = AnswerScorer(
            options.scoring, _tolerance(options.tolerance), options.answer_tag
        )
        self._records: dict[str, Record] = {}
        self._documents = DocumentRoots(())

    def files(self, task: Task) -> Sequence[TaskFile]:
        """The documents of a task; see `ports.Filed`."""
        return self._documents.task_files(task.data["documents"])

    def read_at(self, files: Sequence[TaskFile]) -> None:
        """See `ports.Filed`."""
        self._documents.read_at(files)

    def task(self, record: Record) -> Task:
        """The question; its documents are added once the places of all task files are known."""
        task = read_task(record)
        record.refuse_empty([task.data["answer"]], normalise)
        self._records[task.id] = record
        return task

    def load(self, request: BenchmarkRequest) -> Splits:
        """The tasks of a request, with the digests of their documents.

        Raises:
            DataError: a file or record is unusable, or a task's document is missing.
        """
        splits = super().load(request)
        files = list(dict.fromkeys(record.path for record in self._records.values()))
        environment = read_environment()
        self._documents = open_documents(
            self.options.data_dirs, files, request.data_root, environment
        )
        self._pages = ParsedPages(self._documents.roots)
        tasks = {
            split: tuple(self._documented(task) for task in part)
            for split, part in splits.tasks.items()
        }
        self._records.clear()
        return replace(splits, source=splits.source + _about(self.options), tasks=tasks)

    def brief(self, task: Task) -> Brief:
        """The question, its pages where they are shown, and which documents there are."""
        brief, options = super().brief(task), self.options
        searching = options.search_mode == "custom_search"
        how = (WITH_SEARCH if searching else WITH_FILES).format(turns=self.max_turns)
        return replace(
            brief,
            answer_format="\n\n".join((*([how] if brief.tools else []), ANSWER)),
            files=self._documents.task_files(task.data["documents"]) if options.tooled else (),
        )

    def sections(self, task: Task) -> Sequence[Section]:
        """The question, its pages where they are shown, its documents and hints."""
        data = task.data
        sections = [Section("Question", data["question"])]
        if data["pages"] and (pages := self._pages.text([(f, p) for f, p in data["pages"]])):
            sections.append(Section("Parsed pages", pages))
        if self.options.tooled:
            sections.append(Section("Documents", self._listed(data)))
        if data["hints"]:
            sections.append(Section("Source hints", "\n".join(data["hints"])))
        return sections

    def offers(self, task: Task, search: SearchProvider | None = None) -> Sequence[Offer[Any]]:
        """Tools over the task's documents, or a search.

        Args:
            search: what is searched; None for an index of the task's documents.
        """
        options = self.options
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

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[ToolLoop]:
        """The tools over the task's documents; a reply without a call ends it."""
        index = self._index(task) if self.search is None else None
        try:
            yield ToolLoop(self.offers(task, self.search or index))
        finally:
            if index is not None:
                index.close()

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The reference, once each document of the task was really read."""
        async with self.episode(task, executor) as talk:
            for name in task.data["documents"] if self.options.tooled else ():
                await talk.must("read", path=name, limit=1)
            answer = f"<answer>{task.data['answer']}</answer>"
            return Attempt(answer, outcome=await talk.outcome(answer))

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """See `scoring`."""
        return self._scorer.score(attempt.answer, task.data["answer"])

    def _documented(self, task: Task) -> Task:
        """A task with its documents; what its brief or its tools could show is part of its data."""
        pages = pages_of(task) if self.options.oracle_pages else ()
        parsed = {file: self._pages.digest(file) for file in dict.fromkeys(f for f, _ in pages)}
        data = {
            "question": task.data["question"],
            "answer": task.data["answer"],
            "named": bool(task.data["files"]),
            "documents": {name: self._documents.digest(name) for name in self._names(task)},
            "pages": [[file, page] for file, page in pages if parsed[file]],
            "parsed": parsed,
            "hints": task.data["hints"],
        }
        return replace(task, data=data)

    def _names(self, task: Task) -> Sequence[str]:
        """The documents of a task; all there are where it names none."""
        options = self.options
        searched = options.search_mode != "offline" and not options.search_api_url
        if not (options.tooled or searched):
            return ()
        record = self._records[task.id]
        if not self._documents.names:
            raise record.fault("there is no folder of documents for its question", WHERE)
        names: list[str] = []
        for file in task.data["files"]:
            found = self._documents.called(file)
            if not found:
                raise record.fault(f"its document `{file}` is in no folder of documents", WHERE)
            names += found
        return names or self._documents.names

    def _index(self, task: Task) -> DocumentIndex:
        names = list(task.data["documents"])
        return DocumentIndex(lambda: [Document(n, self._documents.text(n)) for n in names])

    def _listed(self, data: Mapping[str, Any]) -> str:
        names = list(data["documents"])
        if not data["named"]:
            return CORPUS.format(n=len(names))
        more = len(names) - MOST_LISTED
        return "\n".join([*names[:MOST_LISTED], *([f"({more} more)"] if more > 0 else [])])


def _open_search(options: OfficeQAOptions, data_root: Path) -> SearchProvider | None:
    """The search service of the mode custom_search, where one is named.

    Raises:
        ConfigError: the mode has no backend, or the service's token is missing.
    """
    if options.search_mode == "azure_search":
        raise ConfigError(
            "`env.search_mode` is `azure_search`, and no backend offers a service's own web search",
            "use custom_search with env.search_api_url, or offline",
        )
    if options.search_mode == "custom_search":
        return open_service(options, data_root, read_environment())
    return None


def _needs(options: OfficeQAOptions) -> frozenset[str]:
    if options.search_mode != "offline":
        return frozenset({"tools"})
    return frozenset({"tools|workspace"}) if options.use_local_tools else frozenset()


def _about(options: OfficeQAOptions) -> str:
    """The options that a reader of the results must know."""
    modes = {"offline": "" if options.use_local_tools else "without tools"}
    words = [modes.get(options.search_mode, f"mode {options.search_mode}")]
    words.append("pages of the answer shown" if options.oracle_pages else "no pages shown")
    return "; " + ", ".join(word for word in words if word)


def _tolerance(text: str) -> Tolerance:
    try:
        return parse_tolerance(text)
    except ValueError as error:
        raise ConfigError(f"`env.tolerance`: {error}") from None


SPEC = OfficeQA.spec(
    "figures looked up in long documents with file tools, or searched for",
    modality=("text", "tools"),
    sizes=COUNTS,
    prepare=prepare,
    services=(SERVICE,),
)
