"""An index of a task's own documents: BM25 by SQLite's FTS5, without a network."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from skillopt_cli.benchmarks.search.provider import Hit

PASSAGE = 900
"""Characters of a passage, about; what is found is passages, the best one of each document."""
_WORD = re.compile(r"\w+")
_MOST_WORDS = 64


@dataclass(frozen=True, slots=True)
class Document:
    """Something to be found."""

    title: str
    text: str
    url: str = ""
    date: str = ""


class DocumentIndex:
    """A `SearchProvider` over documents, which are read when it is first asked.

    Any word of a query may match; rare ones weigh more, and those of a title most.
    """

    identity = "bm25/1"

    def __init__(self, documents: Callable[[], Sequence[Document]]) -> None:
        self._source = documents
        self._documents: Sequence[Document] = ()
        self._index: sqlite3.Connection | None = None
        self._turn = asyncio.Lock()  # the calls of one attempt may ask at once; one index is enough

    async def search(self, query: str, limit: int) -> Sequence[Hit]:
        """The documents that fit best, each with its best passage; see `SearchProvider`."""
        async with self._turn:
            return await asyncio.to_thread(self._found, query, limit)

    def close(self) -> None:
        """Give the index up."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def _found(self, query: str, limit: int) -> list[Hit]:
        words = list(dict.fromkeys(_WORD.findall(query.casefold())))[:_MOST_WORDS]
        if not words:
            return []
        asked = " OR ".join(f'"{word}"' for word in words)
        rows = self._opened().execute(
            "SELECT place, passage FROM passages WHERE passages MATCH ?"
            " ORDER BY bm25(passages, 2.0, 1.0), rowid",
            (asked,),
        )
        best: dict[int, str] = {}
        for place, passage in rows:
            best.setdefault(place, passage)
            if len(best) == limit:
                break
        return [self._hit(self._documents[place], passage) for place, passage in best.items()]

    def _hit(self, document: Document, passage: str) -> Hit:
        return Hit(document.title, document.url, passage, document.date)

    def _opened(self) -> sqlite3.Connection:
        if self._index is None:
            self._documents = self._source()
            # Threads of the pool take turns, one at a time.
            index = sqlite3.connect(":memory:", check_same_thread=False)
            index.execute(
                "CREATE VIRTUAL TABLE passages USING fts5"
                "(title, passage, place UNINDEXED, tokenize='porter unicode61')"
            )
            rows = (
                (document.title, passage, place)
                for place, document in enumerate(self._documents)
                for passage in passages(document.text)
            )
            index.executemany("INSERT INTO passages VALUES (?, ?, ?)", rows)
            self._index = index
        return self._index


def passages(text: str, length: int = PASSAGE) -> Iterator[str]:
    """A text in pieces of whole lines, each about as long; a longer line is cut."""
    held: list[str] = []
    size = 0
    for line in _pieces(text, length):
        if held and size + len(line) > length:
            yield "\n".join(held)
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if "".join(held).strip():
        yield "\n".join(held)


def _pieces(text: str, length: int) -> Iterator[str]:
    for line in text.split("\n"):
        for start in range(0, max(len(line), 1), length):
            yield line[start : start + length]
