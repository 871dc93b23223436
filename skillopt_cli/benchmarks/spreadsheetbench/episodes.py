"""Attempts of the modes single and multi: a script in every reply, until one will do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillopt_cli.benchmarks.spreadsheetbench.scripts import Ran, code_in, run_script
from skillopt_cli.benchmarks.spreadsheetbench.tasks import Case, Shelf, cases_of
from skillopt_cli.benchmarks.spreadsheetbench.verdicts import Examiner, Verdict, as_outcome
from skillopt_cli.core.episode import Heard, ToolCall, ToolResult
from skillopt_cli.core.task import Task
from skillopt_cli.ports import Executor

_SHOWN = 20
NO_CODE = "There is no script in your reply. Reply with the whole script in one fenced block."
AGAIN = "Reply with the whole corrected script in one fenced block."


@dataclass(frozen=True, slots=True)
class Bench:
    """What scripts of a task are run and examined with.

    Attributes:
        limit: seconds a script may take.
        turns: replies at most.
        hints: whether a script that ran is told which cells it got wrong.
    """

    task: Task
    shelf: Shelf
    executor: Executor
    examiner: Examiner
    limit: float
    turns: int = 1
    hints: bool = False

    async def run(self, code: str, case: Case) -> Ran:
        """A script run on the workbook of a case."""
        return await run_script(code, self.shelf.content(case.given), self.executor, self.limit)

    async def verdict(self, case: Case, ran: Ran) -> Verdict:
        """What became of that."""
        return await self.examiner.examine(self.task, case, ran)


class Writing:
    """The episode of an attempt that replies with scripts."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._first, *_ = cases_of(bench.task)
        self._turn = 0
        self._ran: dict[str, Ran] = {}
        """Runs on the first case, by script: the last one need not be run again."""

    async def use(self, call: ToolCall) -> ToolResult:
        """There are no tools."""
        return ToolResult("There are no tools; reply with a script.", failed=True)

    async def hear(self, reply: str) -> Heard | None:
        """Run the script of a reply.

        The attempt ends when it will do, when it is the one before again, or at its last turn.
        """
        self._turn += 1
        if self._turn >= self._bench.turns:
            return None
        code = code_in(reply)
        if not code.strip():
            return Heard(NO_CODE)
        if code in self._ran:
            return None  # nothing new can come of the same script
        ran = await self._run_first(code)
        if ran.error:
            return Heard(f"The script failed:\n{ran.error}\n\n{AGAIN}")
        if ran.made is None:
            return Heard(f"The script ended, but saved no workbook at OUTPUT_PATH. {AGAIN}")
        if not self._bench.hints:
            return None
        verdict = await self._bench.verdict(self._first, ran)
        return None if verdict.passed else Heard(f"{_hint(verdict)}\n\n{AGAIN}")

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        """The last script's verdict on every case, each run afresh."""
        code = code_in(answer)
        if not code.strip():
            return {"cases": []}
        verdicts = []
        for case in cases_of(self._bench.task):
            first = case == self._first
            ran = await (self._run_first(code) if first else self._bench.run(code, case))
            verdicts.append(await self._bench.verdict(case, ran))
        return as_outcome(verdicts)

    async def _run_first(self, code: str) -> Ran:
        if code not in self._ran:
            # Only the last one is of use again, and workbooks may be large.
            self._ran = {code: await self._bench.run(code, self._first)}
        return self._ran[code]


def _hint(verdict: Verdict) -> str:
    """What is wrong, without saying what would be right."""
    if verdict.failure:
        return f"The result cannot be right: {verdict.failure.partition(': ')[2]}."
    listed = "\n".join(f"- {line}" for line in verdict.told[:_SHOWN])
    more = f"\n- and {verdict.wrong - _SHOWN} more" if verdict.wrong > _SHOWN else ""
    return (
        f"The script ran, but these cells are not what they should be:\n{listed}{more}\n"
        f"{verdict.right} other cells are right."
    )
