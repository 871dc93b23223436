"""Attempts of the modes single and multi: a script in every reply, until one will do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillopt_cli.benchmarks.spreadsheetbench.scoring import CaseVerdict, Examiner, as_outcome
from skillopt_cli.benchmarks.spreadsheetbench.scripts import Ran, code_in
from skillopt_cli.benchmarks.spreadsheetbench.tasks import cases_of
from skillopt_cli.core.episode import Heard, ToolCall, ToolResult
from skillopt_cli.core.task import Task

_SHOWN = 20
NO_CODE = "There is no script in your reply. Reply with the whole script in one fenced block."
AGAIN = "Reply with the whole corrected script in one fenced block."


class ScriptEpisode:
    """The episode of an attempt that replies with scripts.

    Args:
        turns: replies at most.
        hints: whether the reply to a script that ran names the cells it got wrong.
    """

    def __init__(self, task: Task, examiner: Examiner, turns: int, hints: bool) -> None:
        self._task = task
        self._examiner = examiner
        self._turns = turns
        self._hints = hints
        self._first, *_ = cases_of(task)
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
        if self._turn >= self._turns:
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
        if not self._hints:
            return None
        verdict = await self._examiner.examine(self._task, self._first, ran)
        return None if verdict.passed else Heard(f"{_hint(verdict)}\n\n{AGAIN}")

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        """The last script's verdict on every case, each run afresh."""
        code = code_in(answer)
        if not code.strip():
            return {"cases": []}
        verdicts = []
        for case in cases_of(self._task):
            first = case == self._first
            ran = await (self._run_first(code) if first else self._examiner.run(code, case))
            verdicts.append(await self._examiner.examine(self._task, case, ran))
        return as_outcome(verdicts)

    async def _run_first(self, code: str) -> Ran:
        if code not in self._ran:
            # Only the last one is of use again, and workbooks may be large.
            self._ran = {code: await self._examiner.run(code, self._first)}
        return self._ran[code]


def _hint(verdict: CaseVerdict) -> str:
    """What is wrong, without saying what would be right."""
    if verdict.failure:
        return f"The result cannot be right: {verdict.failure.partition(': ')[2]}."
    listed = "\n".join(f"- {line}" for line in verdict.told[:_SHOWN])
    more = f"\n- and {verdict.wrong - _SHOWN} more" if verdict.wrong > _SHOWN else ""
    return (
        f"The script ran, but these cells are not what they should be:\n{listed}{more}\n"
        f"{verdict.right} other cells are right."
    )
