"""Cache of answers from the network: the same request gets the same answer.

A resume plays the turns of a journaled episode once more, and two skills are only compared fairly
when the same query finds the same things.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.search.provider import Hit, SearchProvider

_PATIENCE = 30.0
"""Seconds to wait for another process that writes."""


class AnswerCache:
    """JSON values by what was asked, in one SQLite file that several runs may share."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def kept(self, asked: Sequence[object], make: Callable[[], Awaitable[Any]]) -> Any:
        """The value for what is asked, made now if it is not there. A failure is not kept."""
        content = json.dumps(asked, ensure_ascii=False)
        key = hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()
        known = await asyncio.to_thread(self._read, key)
        if known is not None:
            return json.loads(known)
        value = await make()
        # Of two that asked at once, the first one's is kept for both.
        return json.loads(await asyncio.to_thread(self._write, key, json.dumps(value)))

    def _read(self, key: str) -> str | None:
        if not self._path.exists():
            return None
        with closing(self._opened()) as db:
            row = db.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _write(self, key: str, value: str) -> str:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._opened()) as db, db:
            db.execute("INSERT OR IGNORE INTO kept VALUES (?, ?)", (key, value))
            (first,) = db.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchone()
        return str(first)

    def _opened(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=_PATIENCE)
        db.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        return db


class CachedSearch:
    """A `SearchProvider` whose answers are kept."""

    def __init__(self, provider: SearchProvider, cache: AnswerCache) -> None:
        self.identity = provider.identity
        self._provider = provider
        self._cache = cache

    async def search(self, query: str, limit: int) -> Sequence[Hit]:
        """As the provider found it the first time; see `SearchProvider`."""

        async def make() -> list[dict[str, str]]:
            return [asdict(hit) for hit in await self._provider.search(query, limit)]

        return [Hit(**hit) for hit in await self._cache.kept((self.identity, query, limit), make)]
