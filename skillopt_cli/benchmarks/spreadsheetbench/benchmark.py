"""The SpreadsheetBench benchmark: workbooks changed by scripts, and compared cell by cell.

Data: Ma et al., "SpreadsheetBench: Towards Challenging Real World Spreadsheet Manipulation" (2024).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from skillopt_cli.benchmarks.answers import given_up
from skillopt_cli.benchmarks.programs import Rooms
from skillopt_cli.benchmarks.splits import Splits, SplitTasks, TaskFormat, load_splits
from skillopt_cli.benchmarks.spreadsheetbench import react, texts
from skillopt_cli.benchmarks.spreadsheetbench.computing import available
from skillopt_cli.benchmarks.spreadsheetbench.episodes import Bench, Writing
from skillopt_cli.benchmarks.spreadsheetbench.options import NAME, SpreadsheetOptions
from skillopt_cli.benchmarks.spreadsheetbench.preview import preview
from skillopt_cli.benchmarks.spreadsheetbench.scripts import GIVEN, SCRIPT, Ran
from skillopt_cli.benchmarks.spreadsheetbench.tasks import Shelf, cases_of, content_of
from skillopt_cli.benchmarks.spreadsheetbench.verdicts import (
    Examiner,
    Gold,
    as_outcome,
    score_of,
)
from skillopt_cli.benchmarks.spreadsheetbench.workbook import WorkbookFault
from skillopt_cli.core.episode import Episode
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task, TaskFile
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Executor

SAMPLE = Path(__file__).parent / "sample"


class SpreadsheetBench(SplitTasks):
    """SpreadsheetBench tasks; see `ports.Interactive`."""

    name = NAME
    seed_skill = texts.SEED_SKILL

    def __init__(self, splits: Splits, shelf: Shelf, options: SpreadsheetOptions) -> None:
        super().__init__(splits)
        asked = options.model_dump(include={"mode", "max_turns", "script_timeout", "gold_feedback"})
        # Whether formulas count as what they compute to depends on the machine.
        self.version = f"1-{json.dumps(asked, sort_keys=True)}-{bool(available()):d}"
        self.needs = frozenset({"tools|workspace"}) if options.mode == "react" else frozenset()
        self._shelf = shelf
        self._options = options
        self._hinted = {task.id for task in splits.of("train")} if options.gold_feedback else set()
        self._previews: dict[str, str] = {}
        self._golds: dict[tuple[str, ...], Gold] = {}

    def brief(self, task: Task) -> Brief:
        """The instruction, where the answer belongs, and the workbook's first rows."""
        data, mode = task.data, self._options.mode
        first = cases_of(task)[0]
        position = data["answer_position"]
        if data["answer_sheet"] and "!" not in position:
            position = f"{position} (sheet `{data['answer_sheet']}`)"
        return Brief(
            task.id,
            texts.ROLE,
            (
                Section("Task", data["instruction"]),
                Section("Kind", data["instruction_type"]),
                Section("Answer position", position),
                Section("Workbook", self._preview(first.given)),
            ),
            texts.answer_format(mode),
            tools=react.tools() if mode == "react" else (),
            max_turns=1 if mode == "single" else self._options.max_turns,
            files=(TaskFile(str(self._shelf.path(first.given)), GIVEN, first.given),),
            answer_file=SCRIPT,
        )

    def episode(self, task: Task, executor: Executor) -> AbstractAsyncContextManager[Episode]:
        """Scripts are run, or tools used, in folders of the executor's."""
        return self._episode(task, executor)

    @asynccontextmanager
    async def _episode(self, task: Task, executor: Executor) -> AsyncIterator[Episode]:
        options = self._options
        bench = Bench(
            task,
            self._shelf,
            executor,
            Examiner(self._shelf, executor, self._golds),
            options.script_timeout,
            1 if options.mode == "single" else options.max_turns,
            task.id in self._hinted,
        )
        if options.mode != "react":
            yield Writing(bench)
            return
        async with executor.workspace("react") as folder:
            yield react.Working(bench, Rooms(folder).made())

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The reference workbooks, examined as if a script had saved them."""
        examiner = Examiner(self._shelf, executor, self._golds)
        verdicts = [
            await examiner.examine(task, case, Ran(self._shelf.content(case.answer)))
            for case in cases_of(task)
        ]
        return Attempt("(the reference workbooks)", outcome=as_outcome(verdicts))

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """Hard when all cases pass; soft is the share of those that do."""
        if attempt.ending == "gave_up":
            return given_up()
        return score_of(task, attempt.outcome)

    def _preview(self, digest: str) -> str:
        if digest not in self._previews:
            try:
                self._previews[digest] = preview(self._shelf.content(digest))
            except WorkbookFault as fault:
                raise DataError(f"{self._shelf.path(digest)} cannot be used: {fault}") from fault
        return self._previews[digest]


def open_tasks(request: BenchmarkRequest, options: SpreadsheetOptions) -> Benchmark:
    """Load the tasks: named splits, prepared data, or the bundled sample.

    Raises:
        DataError: a file, record or workbook is unusable.
    """
    shelf = Shelf([Path(options.workbooks)] if options.workbooks else [])
    form = TaskFormat(shelf.task, content_of)
    return SpreadsheetBench(load_splits(request, NAME, form, SAMPLE), shelf, options)
