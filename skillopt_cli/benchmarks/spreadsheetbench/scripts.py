"""A model's script, run on a workbook, and what became of it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.benchmarks.confined import inside, plain_bytes
from skillopt_cli.benchmarks.programs import Rooms, clipped, packages, python
from skillopt_cli.benchmarks.spreadsheetbench.workbook import LARGEST
from skillopt_cli.benchmarks.toolbox import ToolFault
from skillopt_cli.ports import Executor, Finished

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
        error: why it came to nothing; empty when it ended well.
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
        rooms = Rooms(folder).made()
        (rooms.work / GIVEN).write_bytes(given)
        (rooms.work / SCRIPT).write_bytes(code.encode(errors="replace"))
        finished = await rooms.run(
            executor,
            [python(), "-c", _DRIVER.read_text(encoding="utf-8"), SCRIPT, GIVEN, MADE],
            limit=limit,
            readable=packages(*LIBRARIES),
        )
        if error := failure(finished, rooms, limit):
            return Ran(None, error, finished.timed_out)
        return Ran(saved(rooms))


def failure(finished: Finished, rooms: Rooms, limit: float) -> str:
    """What went wrong with a program, as its writer is told; empty when nothing did."""
    if finished.timed_out:
        return f"it was stopped after {limit:g} seconds"
    if finished.returncode == 0:
        return ""
    said = rooms.told(finished.stderr.strip() or finished.stdout.strip())
    return clipped(said, _ERROR_LENGTH) or f"it ended with code {finished.returncode}"


def saved(rooms: Rooms) -> bytes | None:
    """The workbook a program saved; None when it saved none, or something that is no plain file."""
    try:
        return plain_bytes(inside(rooms.work, MADE), LARGEST)
    except ToolFault:
        return None
