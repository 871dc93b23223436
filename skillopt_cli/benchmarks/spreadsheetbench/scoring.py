"""What came of a script on each case: compared with the reference, and put into words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from skillopt_cli.benchmarks.kit.workbooks import WorkbookFault
from skillopt_cli.benchmarks.spreadsheetbench.areas import Area
from skillopt_cli.benchmarks.spreadsheetbench.cells import (
    CellComparison,
    Cells,
    compare,
)
from skillopt_cli.benchmarks.spreadsheetbench.computing import available, computed
from skillopt_cli.benchmarks.spreadsheetbench.scripts import Ran, run_script
from skillopt_cli.benchmarks.spreadsheetbench.tasks import (
    WorkbookCase,
    WorkbookStore,
    areas_of,
    cases_of,
)
from skillopt_cli.benchmarks.spreadsheetbench.workbook import (
    Read,
    read,
    settled,
    sheet_names,
)
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Task
from skillopt_cli.ports import Executor

_TOLD = 5
UNCOMPUTED = (
    "{n} of the answer's cells hold formulas, such as {cell}; nothing here computes them"
    " (LibreOffice is not installed), so write the values themselves"
)


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """How one case ended.

    Attributes:
        number: the case.
        failure: why nothing could be compared, in the published words; empty when it was.
        right, wrong: cells that are as they should be, or not.
        differences: "Sheet1!A1: gt=1 pred=2" for the first of those that are not.
        told: the same without what was wanted.
    """

    number: str
    failure: str = ""
    right: int = 0
    wrong: int = 0
    differences: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the case is solved."""
        return not self.failure and self.wrong == 0


@dataclass(frozen=True, slots=True)
class Gold:
    """A reference: the place of the answer, sheets spelled as there, and the answer."""

    areas: tuple[Area, ...]
    cells: Cells


@dataclass(frozen=True, slots=True)
class Examiner:
    """Runs scripts on the cases of tasks, and compares workbooks with their references.

    Attributes:
        store: where these lie.
        executor: where scripts run, and LibreOffice, if it has to.
        limit: seconds a script may take.
        golds: references read so far, by digest and answer position.
    """

    store: WorkbookStore
    executor: Executor
    limit: float
    golds: dict[tuple[str, ...], Gold]

    async def run(self, code: str, case: WorkbookCase) -> Ran:
        """What a script does with the workbook of a case."""
        return await run_script(code, self.store.content(case.given), self.executor, self.limit)

    async def examine(self, task: Task, case: WorkbookCase, ran: Ran) -> CaseVerdict:
        """The verdict on what a script made of a case.

        Raises:
            DataError: the reference itself cannot be used.
            EpisodeFailed: formulas could not be computed though LibreOffice is there.
        """
        if ran.error:
            return CaseVerdict(case.number, f"exec-error: {ran.error}")
        if ran.made is None:
            return CaseVerdict(
                case.number, "output-not-found: no workbook was saved at OUTPUT_PATH"
            )
        gold = await self.gold(task, case)
        try:
            got = await asyncio.to_thread(read, ran.made, gold.areas)
            if got.formulas and not available():
                said = UNCOMPUTED.format(n=len(got.formulas), cell=got.formulas[0])
                return CaseVerdict(case.number, f"formulas-not-computed: {said}")
            cells = await self._with_formulas(ran.made, got, gold.areas)
        except WorkbookFault as fault:
            return CaseVerdict(case.number, f"output-unreadable: {fault}")
        return _verdict(case, compare(gold.cells, cells))

    async def gold(self, task: Task, case: WorkbookCase) -> Gold:
        """The reference of a case.

        Raises:
            DataError: it cannot be read, or holds formulas that nobody computed.
        """
        key = (case.answer, task.data["answer_position"], task.data["answer_sheet"])
        known = self.golds.get(key)
        if known is None:
            try:
                known = await self._read_gold(task, case)
            except WorkbookFault as fault:
                path = self.store.path(case.answer)
                raise DataError(f"the reference {path} cannot be used: {fault}") from fault
            self.golds[key] = known
        return known

    async def _read_gold(self, task: Task, case: WorkbookCase) -> Gold:
        content = self.store.content(case.answer)
        areas = settled(areas_of(task.data), await asyncio.to_thread(sheet_names, content))
        found = await asyncio.to_thread(read, content, areas)
        # What the program that saved it computed is the reference; only what it left out is ours.
        blank = [cell for cell in found.formulas if not _holds(found.cells, cell)]
        if not blank:
            return Gold(areas, found.cells)
        if not available():
            raise DataError(
                f"{self.store.path(case.answer)} holds formulas without values, such as {blank[0]}",
                "install LibreOffice, which computes them",
            )
        return Gold(areas, await self._with_formulas(content, found, areas))

    async def _with_formulas(self, content: bytes, found: Read, areas: Sequence[Area]) -> Cells:
        """The cells with formulas' values computed again: one that came along may be an old one."""
        if not found.formulas:
            return found.cells
        fresh = await computed(content, self.executor)
        return (await asyncio.to_thread(read, fresh, areas)).cells


def _holds(cells: Cells, cell: str) -> bool:
    sheet, _, place = cell.rpartition("!")
    return place in cells.get(sheet, {})


def _verdict(case: WorkbookCase, found: CellComparison) -> CaseVerdict:
    if found.missing:
        return CaseVerdict(case.number, f"eval-mismatch: there is no sheet `{found.missing[0]}`")
    return CaseVerdict(
        case.number,
        right=found.right,
        wrong=found.wrong,
        differences=found.differences,
        told=found.told,
    )


def as_outcome(verdicts: Sequence[CaseVerdict]) -> Mapping[str, Any]:
    """Verdicts as an attempt leaves them behind."""
    return {"cases": [asdict(verdict) for verdict in verdicts]}


def score_of(task: Task, outcome: Mapping[str, Any]) -> Score:
    """Hard when all cases pass; soft is the share of those that do."""
    verdicts = [CaseVerdict(**case) for case in outcome.get("cases", ())]
    total = len(cases_of(task))
    passed = sum(verdict.passed for verdict in verdicts)
    if not verdicts:
        return Score(0.0, 0.0, "empty-code-block: there was no script to run")
    if passed == total:
        return Score(1.0, 1.0)
    failed = next(verdict for verdict in verdicts if not verdict.passed)
    where = f" (case {failed.number}; {passed} of {total} cases pass)" if total > 1 else ""
    return Score(0.0, passed / total, f"{_words(failed)}{where}")


def _words(verdict: CaseVerdict) -> str:
    """Why a case fails."""
    if verdict.failure:
        return verdict.failure
    listed = "; ".join(verdict.differences[:_TOLD])
    more = "; ..." if verdict.wrong > _TOLD else ""
    return f"eval-mismatch: {listed}{more} ({verdict.right} cells right, {verdict.wrong} wrong)"
