"""The journal: every scored rollout and every model call, in one SQLite file.

The file may be shared by several runs and processes: the first answer to a key stays. Each write is
committed when the call returns, so killing the process loses nothing that was remembered.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.task import ChatReply, Task
from skillopt_cli.store import codec

BUSY_SECONDS = 30.0
"""How long a write waits for another process to finish its own."""

_Table = Literal["rollouts", "calls"]


class Journal:
    """Rollouts and calls by key. Open for as long as the run; a context manager.

    Args:
        path: the SQLite file, made with its folders when missing.

    Raises:
        DataError: the file is no journal, comes from a newer version, or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._translated():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        with ExitStack() as unless_ready:
            unless_ready.callback(self._db.close)
            with self._translated():
                self._prepare()
            unless_ready.pop_all()

    def recall(self, key: str, task: Task) -> Trajectory | None:
        """The trajectory of `task` remembered under `key`, equal to the original, or None."""
        row = self._get("rollouts", key)
        if row is None:
            return None
        with self._translated():
            return codec.load_rollout(row, task)

    def remember(self, key: str, trajectory: Trajectory) -> None:
        """Keep a scored trajectory, unless `key` is taken.

        Raises:
            ValueError: the attempt is broken.
        """
        self._put("rollouts", key, codec.dump_rollout(trajectory))

    def recall_call(self, key: str) -> ChatReply | None:
        """The reply remembered under `key`, or None."""
        row = self._get("calls", key)
        if row is None:
            return None
        with self._translated():
            return codec.load_call(row)

    def remember_call(self, key: str, reply: ChatReply) -> None:
        """Keep a reply, unless `key` is taken."""
        self._put("calls", key, codec.dump_call(reply))

    def call_keys(self) -> list[str]:
        """The keys of all calls, sorted."""
        with self._translated():
            return [key for (key,) in self._db.execute("SELECT key FROM calls ORDER BY key")]

    @contextmanager
    def filling(self) -> Iterator[None]:
        """Make what is remembered within the block last together, or not at all."""
        with self._translated():
            self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        # Whatever ended the block, half of what it remembers must not last.
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        with self._translated():
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file; the journal is of no use afterwards."""
        self._db.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _prepare(self) -> None:
        # NORMAL in WAL mode survives the death of the process; only a power cut may cost the last
        # writes, and those are merely paid for again.
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("BEGIN IMMEDIATE")
        (schema,) = self._db.execute("PRAGMA user_version").fetchone()
        if schema > codec.SCHEMA:
            raise DataError(
                f"the journal {self.path} has schema {schema},"
                f" this version reads up to {codec.SCHEMA}",
                "upgrade skillopt, or set run.cache_dir to another folder",
            )
        for table in ("rollouts", "calls"):
            self._db.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (key TEXT PRIMARY KEY, body TEXT NOT NULL)"
            )
        self._db.execute(f"PRAGMA user_version = {codec.SCHEMA}")
        self._db.execute("COMMIT")

    def _get(self, table: _Table, key: str) -> str | None:
        with self._translated():
            row = self._db.execute(f"SELECT body FROM {table} WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _put(self, table: _Table, key: str, body: str) -> None:
        with self._translated():
            self._db.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", (key, body))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            raise DataError(
                f"the journal {self.path} cannot be used: {error}",
                "free disk space or mend its permissions; a damaged journal may be removed,"
                " which costs its rollouts and calls again",
            ) from error
