"""Attempts of the mode react: a working folder with the workbook, Python, and a file to write."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from skillopt_cli.benchmarks.kit.programs import ProgramFolders, clipped, packages
from skillopt_cli.benchmarks.kit.tools import Offer, ToolFault, ToolLoop
from skillopt_cli.benchmarks.kit.workbooks import WorkbookFault
from skillopt_cli.benchmarks.kit.working_files import write_text
from skillopt_cli.benchmarks.spreadsheetbench.scoring import CaseVerdict, Examiner, as_outcome
from skillopt_cli.benchmarks.spreadsheetbench.scripts import (
    GIVEN,
    LIBRARIES,
    MADE,
    SCRIPT,
    Ran,
    code_in,
)
from skillopt_cli.benchmarks.spreadsheetbench.tasks import WorkbookCase, cases_of
from skillopt_cli.benchmarks.spreadsheetbench.workbook import (
    LARGEST,
    preview,
    uncomputed,
)
from skillopt_cli.core.episode import ToolResult
from skillopt_cli.core.task import Task, Tool

_SECONDS = 60.0
_OUTPUT_LENGTH = 4_000
_LARGEST_SCRIPT = 1_000_000
_PYTHON = ("python", "python3")
_SHELL = frozenset({"&&", "||", "|", "&", ";", ">", ">>", "<", "2>&1"})
# A command's words come by way of standard input: what is in `argv` may be read by the program,
# and a model must not choose that.
_START = (
    "import json, os, sys\n"
    "words = json.load(sys.stdin)\n"
    "os.dup2(os.open(os.devnull, os.O_RDONLY), 0)\n"
    "os.execv(sys.executable, [sys.executable, *words])\n"
)


class Command(BaseModel):
    """Arguments of `bash`."""

    cmd: str = Field(description="A call of python, such as: python solution.py. No shell.")


class NewFile(BaseModel):
    """Arguments of `write_file`."""

    path: str = Field(description="Where, relative to the working folder")
    content: str = Field(description="The whole content")


def tools() -> tuple[Tool, ...]:
    """What the target is offered."""
    return tuple(offer.tool for offer in _offers(None))


class ReactEpisode(ToolLoop):
    """The episode of an attempt that works with tools."""

    def __init__(self, task: Task, examiner: Examiner, folders: ProgramFolders) -> None:
        super().__init__(_offers(self))
        self._cases = cases_of(task)
        self._task = task
        self._examiner = examiner
        self._folders = folders
        (folders.work / GIVEN).write_bytes(examiner.store.content(self._cases[0].given))

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        """Run solution.py afresh on every case; without one, look at what the first one left.

        An agent's program that worked elsewhere leaves the script as its answer.
        """
        script = self._folders.saved(SCRIPT, _LARGEST_SCRIPT)
        made = self._folders.saved(MADE, LARGEST)
        if script is None and made is None:
            code = code_in(answer) if "OUTPUT_PATH" in answer or "```" in answer else ""
        else:
            code = (script or b"").decode(errors="replace")
        if not code.strip() and made is None:
            return {"cases": []}
        return as_outcome([await self._verdict(case, code, made) for case in self._cases])

    async def _verdict(self, case: WorkbookCase, code: str, made: bytes | None) -> CaseVerdict:
        if code.strip():
            ran = await self._examiner.run(code, case)
            return await self._examiner.examine(self._task, case, ran)
        if case != self._cases[0]:
            return CaseVerdict(
                case.number, "no-solution-py-for-other-cases: there is no solution.py"
            )
        return await self._examiner.examine(self._task, case, Ran(made))

    async def bash(self, arguments: Command) -> str | ToolResult:
        """Run Python with the words of a command."""
        words = _words(arguments.cmd)
        finished = await self._folders.run(
            self._examiner.executor,
            [sys.executable, "-c", _START],
            stdin=json.dumps(words),
            limit=_SECONDS,
            readable=packages(*LIBRARIES),
        )
        said = self._folders.reproducible(
            "\n".join(filter(None, (finished.stdout, finished.stderr)))
        )
        parts = [clipped(said.strip(), _OUTPUT_LENGTH) or "(no output)"]
        if finished.timed_out:
            parts.append(f"(stopped after {_SECONDS:g} seconds)")
        elif finished.returncode:
            parts.append(f"(ended with code {finished.returncode})")
        if any(word.endswith(SCRIPT) for word in words):
            parts.append(await self._checked())
        bad = finished.timed_out or finished.returncode != 0
        return ToolResult("\n".join(parts), failed=bad)

    async def write_file(self, arguments: NewFile) -> str:
        """Write a file of the working folder."""
        await asyncio.to_thread(write_text, self._folders.work, arguments.path, arguments.content)
        return f"{arguments.path} is written ({len(arguments.content)} characters)."

    async def _checked(self) -> str:
        """What the output looks like after the script ran."""
        made = self._folders.saved(MADE, LARGEST)
        if made is None:
            return f"[check] There is no {MADE}."
        try:
            shown = await asyncio.to_thread(preview, made)
            bare = await asyncio.to_thread(uncomputed, made)
        except WorkbookFault as fault:
            return f"[check] {MADE}: {fault}"
        listed = f"\n{len(bare)} formulas have no value yet, such as {bare[0]}." if bare else ""
        return f"[check] {MADE} holds:\n{clipped(shown, _OUTPUT_LENGTH)}{listed}"


def _offers(episode: ReactEpisode | None) -> tuple[Offer[Any], ...]:
    async def nowhere(arguments: BaseModel) -> str:
        raise ToolFault("There is no working folder.")

    return (
        Offer(
            "bash",
            "Run python in the working folder and read its output. Other programs are refused.",
            Command,
            episode.bash if episode else nowhere,
        ),
        Offer(
            "write_file",
            "Write a text file in the working folder, such as solution.py.",
            NewFile,
            episode.write_file if episode else nowhere,
        ),
    )


def _words(command: str) -> list[str]:
    """The arguments of a call of python.

    Raises:
        ToolFault: it is anything else.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ToolFault(f"The command cannot be read: {error}.") from error
    if not words or words[0] not in _PYTHON:
        raise ToolFault("Only python may be run, as in: python solution.py")
    if len(words) == 1 or any(word in _SHELL or word.startswith("<<") for word in words):
        raise ToolFault("There is no shell: write a file first, or use python -c '...'")
    if any("\0" in word for word in words):
        raise ToolFault("The command holds a zero byte.")
    return words[1:]
