"""The SpreadsheetBench benchmark: workbooks changed by scripts, and compared cell by cell.

Data: Ma et al., "SpreadsheetBench: Towards Challenging Real World Spreadsheet Manipulation" (2024).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from skillopt_cli.benchmarks.kit.benchmark import EpisodeBenchmark
from skillopt_cli.benchmarks.kit.options import BenchmarkOptions
from skillopt_cli.benchmarks.kit.programs import ProgramFolders, absent
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.kit.splits import Splits
from skillopt_cli.benchmarks.kit.workbooks import WorkbookFault
from skillopt_cli.benchmarks.spreadsheetbench import react
from skillopt_cli.benchmarks.spreadsheetbench.computing import available
from skillopt_cli.benchmarks.spreadsheetbench.episodes import ScriptEpisode
from skillopt_cli.benchmarks.spreadsheetbench.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.spreadsheetbench.prompts import FORMATS, PROMPTS
from skillopt_cli.benchmarks.spreadsheetbench.scoring import (
    Examiner,
    Gold,
    as_outcome,
    score_of,
)
from skillopt_cli.benchmarks.spreadsheetbench.scripts import GIVEN, SCRIPT, Ran
from skillopt_cli.benchmarks.spreadsheetbench.tasks import WorkbookStore, cases_of
from skillopt_cli.benchmarks.spreadsheetbench.workbook import preview
from skillopt_cli.core.episode import Episode
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task, TaskFile
from skillopt_cli.ports import BenchmarkRequest, Executor


class SpreadsheetOptions(BenchmarkOptions):
    """The `env.*` keys of the spreadsheetbench benchmark."""

    mode: Literal["single", "multi", "react"] = "multi"
    """single: one script; multi: scripts until one runs; react: tools in a working folder."""
    max_turns: int = Field(30, ge=1)
    """Replies at most, in the modes multi and react."""
    script_timeout: float = Field(120.0, gt=0)
    """Seconds a script may take."""
    gold_feedback: bool = True
    """In mode multi, tell a wrong script of a *train* task which cells are wrong, as the published
    runs do; selection and test never hear of it."""
    workbooks: str = ""
    """Folder in which the records' `spreadsheet_path` is looked up, beside that of the tasks."""


class SpreadsheetBench(EpisodeBenchmark[SpreadsheetOptions]):
    """SpreadsheetBench tasks; see `ports.Interactive`."""

    name = "spreadsheetbench"
    prompts = PROMPTS
    options_type = SpreadsheetOptions
    sample = Path(__file__).parent / "sample"
    extra = "sheets"

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        options = self.options
        asked = options.model_dump(include={"mode", "max_turns", "script_timeout", "gold_feedback"})
        # Whether formulas count as what they compute to depends on the machine.
        self.version = f"1-{json.dumps(asked, sort_keys=True)}-{bool(available()):d}"
        self.needs = frozenset({"tools|workspace"} if options.mode == "react" else ())
        self.max_turns = 1 if options.mode == "single" else options.max_turns
        self._store = WorkbookStore([Path(options.workbooks)] if options.workbooks else [])
        self._previews: dict[str, str] = {}
        self._golds: dict[tuple[str, ...], Gold] = {}

    @classmethod
    def missing(cls) -> str:
        """The packages that are absent on this machine; LibreOffice is welcome, not needed."""
        return absent("openpyxl", "pandas")

    def use(self, splits: Splits) -> None:
        """Take these tasks; those for training may be answered with hints."""
        super().use(splits)
        hinted = splits.of("train") if self.options.gold_feedback else ()
        self._hinted = {task.id for task in hinted}

    def __reduce__(self) -> tuple[Any, ...]:
        """With what an episode must know of the splits."""
        return (*super().__reduce__(), {"_hinted": self._hinted})

    def files(self, task: Task) -> Sequence[TaskFile]:
        """The workbooks of all cases; see `ports.Filed`."""
        digests = dict.fromkeys(d for case in cases_of(task) for d in (case.given, case.answer))
        return [TaskFile(str(self._store.path(digest)), digest, digest) for digest in digests]

    def read_at(self, files: Sequence[TaskFile]) -> None:
        """See `ports.Filed`."""
        self._store.read_at(files)

    def task(self, record: Record) -> Task:
        """The instruction, the place of the answer, and the digests of the workbooks."""
        return self._store.task(record)

    def content(self, task: Task) -> Iterable[str]:
        """What is asked and wanted."""
        data = task.data
        digests = sorted(case[part] for case in data["cases"] for part in ("given", "answer"))
        return [data["instruction"], data["answer_position"], *digests]

    def brief(self, task: Task) -> Brief:
        """The instruction, the workbook, and how to answer in this mode."""
        mode, given = self.options.mode, cases_of(task)[0].given
        return replace(
            super().brief(task),
            answer_format=FORMATS[mode],
            tools=react.tools() if mode == "react" else (),
            files=(TaskFile(str(self._store.path(given)), GIVEN, given),),
            answer_file=SCRIPT,
        )

    def sections(self, task: Task) -> Sequence[Section]:
        """The instruction, where the answer belongs, and the workbook's first rows."""
        data = task.data
        position = data["answer_position"]
        if data["answer_sheet"] and "!" not in position:
            position = f"{position} (sheet `{data['answer_sheet']}`)"
        return [
            Section("Task", data["instruction"]),
            Section("Kind", data["instruction_type"]),
            Section("Answer position", position),
            Section("Workbook", self._preview(cases_of(task)[0].given)),
        ]

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[Episode]:
        """Scripts are run, or tools used, in folders of the executor's."""
        examiner = self._examiner(executor)
        if self.options.mode != "react":
            yield ScriptEpisode(task, examiner, self.max_turns, task.id in self._hinted)
            return
        async with executor.workspace("react") as folder:
            yield react.ReactEpisode(task, examiner, ProgramFolders.create(folder))

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The reference workbooks, examined as if a script had saved them."""
        examiner = self._examiner(executor)
        verdicts = [
            await examiner.examine(task, case, Ran(self._store.content(case.answer)))
            for case in cases_of(task)
        ]
        return Attempt("(the reference workbooks)", outcome=as_outcome(verdicts))

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """Hard when all cases pass; soft is the share of those that do."""
        return score_of(task, attempt.outcome)

    def _examiner(self, executor: Executor) -> Examiner:
        return Examiner(self._store, executor, self.options.script_timeout, self._golds)

    def _preview(self, digest: str) -> str:
        if digest not in self._previews:
            try:
                self._previews[digest] = preview(self._store.content(digest))
            except WorkbookFault as fault:
                raise DataError(f"{self._store.path(digest)} cannot be used: {fault}") from fault
        return self._previews[digest]


SPEC = SpreadsheetBench.spec(
    "workbooks changed by Python scripts (cells compared as published)",
    modality=("text", "code"),
    sizes=COUNTS,
    prepare=prepare,
    runs_programs=True,
    cpus=1.0,
    memory_mb=1000,
)
