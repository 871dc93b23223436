"""Tools to find and read files: `glob`, `read` and `grep` over the documents of a task.

A tool sees the names it was given and nothing else; a path is looked up among them, never opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from pydantic import BaseModel, Field

from skillopt_cli.benchmarks.kit.document_roots import FOLDER, DocumentRoots
from skillopt_cli.benchmarks.kit.tools import Offer, ToolFault

MOST_PATHS = 50
MOST_CHARS = 4_000
MOST_ROWS = 20
LONGEST_ROW = 500
"""Characters of a line that `grep` shows, around what was found."""


class _Glob(BaseModel):
    pattern: str = Field(description="Such as *.txt or docs/*1951*; matches paths and file names.")


class _Read(BaseModel):
    path: str = Field(description="A path that glob gave.")
    start: int = Field(1, ge=1, description="The first line, from 1.")
    limit: int = Field(80, ge=1, description="How many lines at most.")


class _Grep(BaseModel):
    pattern: str = Field(min_length=1, description="A piece of text, taken as it is, in any case.")
    path: str = Field(description="A path that glob gave.")


class FileTools:
    """The three tools over some of the documents.

    Args:
        names: of the files that may be seen.
    """

    def __init__(self, documents: DocumentRoots, names: Sequence[str]) -> None:
        self._documents = documents
        self._names = tuple(names)

    def offers(self) -> tuple[Offer[_Glob], Offer[_Read], Offer[_Grep]]:
        """The tools."""
        return (
            Offer("glob", "List the documents whose path matches a pattern.", _Glob, self._glob),
            Offer("read", "Read lines of a document.", _Read, self._read),
            Offer("grep", "Find the lines of a document that hold a text.", _Grep, self._grep),
        )

    async def _glob(self, asked: _Glob) -> str:
        pattern = asked.pattern.strip().removeprefix("./")
        found = [name for name in self._names if _matches(name, pattern)]
        if not found:
            return "(no document matches)"
        more = len(found) - MOST_PATHS
        return "\n".join([*found[:MOST_PATHS], *([f"({more} more)"] if more > 0 else [])])

    async def _read(self, asked: _Read) -> str:
        lines = await self._lines(asked.path)
        wanted = lines[asked.start - 1 : asked.start - 1 + asked.limit]
        if not wanted:
            return f"(the document has {len(lines)} lines)"
        text = "\n".join(wanted)
        if len(text) <= MOST_CHARS:
            return text
        whole = text[:MOST_CHARS].count("\n")
        following = asked.start + max(whole, 1)
        return f"{text[:MOST_CHARS]}\n(cut here; go on from line {following})"

    async def _grep(self, asked: _Grep) -> str:
        wanted = asked.pattern.casefold()
        rows = []
        for number, line in enumerate(await self._lines(asked.path), 1):
            at = line.casefold().find(wanted)
            if at >= 0:
                rows.append(f"{number}: {_around(line, at)}")
        if not rows:
            return "(no line holds this text)"
        more = len(rows) - MOST_ROWS
        return "\n".join([*rows[:MOST_ROWS], *([f"({more} more lines)"] if more > 0 else [])])

    async def _lines(self, path: str) -> list[str]:
        name = self._named(path)
        text = await asyncio.to_thread(self._documents.text, name)
        return [line.rstrip("\r") for line in text.split("\n")]

    def _named(self, path: str) -> str:
        """The name for a path: itself, without `docs/`, or the file name where it is one."""
        asked = path.strip().removeprefix("./")
        for name in (asked, f"{FOLDER}/{asked}"):
            if name in self._names:
                return name
        same = [name for name in self._names if PurePosixPath(name).name == asked]
        if len(same) == 1:
            return same[0]
        raise ToolFault(f"There is no document `{path}` among those of this task; glob lists them.")


def _matches(name: str, pattern: str) -> bool:
    parts = (name, name.removeprefix(f"{FOLDER}/"), PurePosixPath(name).name)
    return any(fnmatchcase(part, pattern) for part in parts)


def _around(line: str, at: int) -> str:
    if len(line) <= LONGEST_ROW:
        return line
    start = max(0, min(at - LONGEST_ROW // 4, len(line) - LONGEST_ROW))
    return f"[...] {line[start : start + LONGEST_ROW]} [...]"
