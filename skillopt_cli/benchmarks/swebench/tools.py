"""The tools of an attempt at an instance: a shell, and files to read, write and edit."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from skillopt_cli.benchmarks.kit.programs import clipped
from skillopt_cli.benchmarks.kit.tools import Offer, ToolFault
from skillopt_cli.benchmarks.kit.working_files import printable
from skillopt_cli.benchmarks.swebench.repositories import Checkout
from skillopt_cli.core.episode import ToolResult

_OUTPUT_LENGTH = 10_000
_LINES = 400


class Command(BaseModel):
    """Arguments of `bash`."""

    command: str = Field(description="A shell command; nothing of an earlier one's shell is left")


class Lines(BaseModel):
    """Arguments of `read_file`."""

    path: str = Field(description="A file of the repository")
    first: int = Field(1, ge=1, description="Number of the first line")
    last: int = Field(0, ge=0, description="Number of the last line; 0 reads to the end")


class NewFile(BaseModel):
    """Arguments of `write_file`."""

    path: str = Field(description="A file of the repository; a new one is made")
    content: str = Field(description="The whole content")


class Replacement(BaseModel):
    """Arguments of `edit_file`."""

    path: str = Field(description="A file of the repository")
    old: str = Field(description="A text that stands in the file exactly once", min_length=1)
    new: str = Field(description="What takes its place")


class Tools:
    """Carries out tool calls on a checkout; without one, only describes them."""

    def __init__(self, checkout: Checkout | None = None, limit: float = 60.0) -> None:
        self._given = checkout
        self._limit = limit

    @property
    def offers(self) -> tuple[Offer[Any], ...]:
        """The tools."""
        return (
            Offer("bash", "Run a shell command in the repository.", Command, self._run),
            Offer("read_file", "Read lines of a file, numbered.", Lines, self._read),
            Offer("write_file", "Write a file.", NewFile, self._write),
            Offer("edit_file", "Replace a text in a file.", Replacement, self._edit),
        )

    @property
    def _checkout(self) -> Checkout:
        if self._given is None:
            raise ToolFault("There is no repository.")
        return self._given

    async def _run(self, arguments: Command) -> ToolResult:
        said = await self._checkout.run(arguments.command, self._limit)
        parts = [clipped(said.text, _OUTPUT_LENGTH) or "(no output)"]
        if said.late:
            parts.append(f"(killed after {self._limit:g} seconds)")
        elif said.code:
            parts.append(f"(ended with code {said.code})")
        return ToolResult("\n".join(parts), failed=said.late or said.code != 0)

    async def _read(self, arguments: Lines) -> str:
        text = printable(await self._checkout.read(arguments.path))
        lines = text.removesuffix("\n").split("\n") if text else []
        last = min(arguments.last or len(lines), len(lines), arguments.first + _LINES - 1)
        chosen = lines[arguments.first - 1 : last]
        if not chosen:
            raise ToolFault(f"`{arguments.path}` has {len(lines)} lines.")
        numbered = "\n".join(f"{n:>5} {line}" for n, line in enumerate(chosen, arguments.first))
        left = len(lines) - last
        return f"{clipped(numbered, 2 * _OUTPUT_LENGTH)}\n({left} more lines)" if left else numbered

    async def _write(self, arguments: NewFile) -> str:
        await self._checkout.write(arguments.path, arguments.content)
        return f"{arguments.path} is written."

    async def _edit(self, arguments: Replacement) -> str:
        text = await self._checkout.read(arguments.path)
        times = text.count(arguments.old)
        if times != 1:
            raise ToolFault(f"The old text stands {times} times in {arguments.path}, not once.")
        await self._checkout.write(arguments.path, text.replace(arguments.old, arguments.new))
        return f"{arguments.path} is changed."
