"""A model's script, run on a workbook, and what became of it."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.benchmarks.kit.programs import ProgramFolders, clipped, packages
from skillopt_cli.benchmarks.spreadsheetbench.workbook import LARGEST
from skillopt_cli.ports import Executor

LIBRARIES = ("openpyxl", "pandas")
GIVEN, MADE, SCRIPT = "input.xlsx", "output.xlsx", "solution.py"
_ERROR_LENGTH = 3_000
_DRIVER = Path(__file__).with_name("driver.py")
_BLOCK = re.compile(
    r"^(?P<fence>`{3,}+|~{3,}+)[ \t]*(?P<language>[\w+-]*)[^\n]*\n(?P<code>.*?)"
    r"(?:^[ \t]*(?P=fence)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PYTHON = {"python", "py", "python3"}


@dataclass(frozen=True, slots=True)
class Ran:
    """What a script did with one workbook.

    Attributes:
        made: the workbook it saved; None when it saved none.
        error: why it failed; empty when it ended well.
        late: whether that is because it was killed at its time limit.
    """

    made: bytes | None
    error: str = ""
    late: bool = False


def code_in(reply: str) -> str:
    """The script in a reply: its first block of Python, else its first block, else all of it.

    A reply that is a script as a whole is one, whatever its texts hold.
    """
    if "```" in reply and _parses(reply):
        return reply
    blocks = list(_BLOCK.finditer(reply))
    named = [block for block in blocks if block["language"].lower() in _PYTHON]
    chosen = next(iter(named or blocks), None)
    return chosen["code"] if chosen else reply


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


async def run_script(code: str, given: bytes, executor: Executor, limit: float) -> Ran:
    """Run a script on a workbook in a folder where nothing else is: no output is an older one.

    Args:
        limit: seconds.

    Raises:
        EpisodeFailed: it could not be run through no fault of its own.
    """
    async with executor.workspace("script") as folder:
        folders = ProgramFolders.create(folder)
        (folders.work / GIVEN).write_bytes(given)
        (folders.work / SCRIPT).write_bytes(code.encode(errors="replace"))
        finished = await folders.run(
            executor,
            [sys.executable, "-c", _DRIVER.read_text(encoding="utf-8"), SCRIPT, GIVEN, MADE],
            limit=limit,
            readable=packages(*LIBRARIES),
        )
        if finished.timed_out:
            return Ran(None, f"it was stopped after {limit:g} seconds", late=True)
        if finished.returncode == 0:
            return Ran(folders.saved(MADE, LARGEST))
        printed = folders.reproducible(finished.stderr.strip() or finished.stdout.strip())
        error = clipped(printed, _ERROR_LENGTH) or f"it ended with code {finished.returncode}"
        return Ran(None, error)
