"""The journal: every scored rollout and every model call, in one SQLite file.

The first value of a key stays until it is forgotten, also where several processes of one machine
write the file. Each write is committed when the call returns, so killing the process loses nothing
that was stored.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.task import ChatReply, Task
from skillopt_cli.permissions import make_folder, open_file
from skillopt_cli.ports import Stored
from skillopt_cli.store import codec

BUSY_SECONDS = 30.0
"""Timeout of a write that waits for another process's write."""

_FORGOTTEN = ""
"""The body of a reply that is to be asked for again."""

MEMORY = Path(":memory:")
"""The path of a journal without a file."""


class Journal:
    """Rollouts and calls by key; a context manager that stays open during the run.

    Args:
        path: the SQLite file, or `MEMORY`; it and its folders are created when missing.
        mode: permissions of the folders that are created; None as `make_folder`.

    Raises:
        DataError: the file is not a journal, has a newer schema, or cannot be opened.
    """

    def __init__(self, path: Path, mode: int | None = None) -> None:
        self.path = path
        with self._data_errors():
            make_folder(path.parent, mode)
            # SQLite gives the files beside it the permissions of this one. One that is there is not
            # opened here, since closing it would release the locks of its other users.
            if path != MEMORY:
                with suppress(FileExistsError):
                    os.close(open_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
            self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        with ExitStack() as unless_ready:
            unless_ready.callback(self._db.close)
            with self._data_errors():
                self._prepare()
            unless_ready.pop_all()

    def recall(self, key: str, task: Task) -> Trajectory | None:
        """The trajectory of `task` stored under `key`, equal to the original, or None."""
        row = self.document("rollout", key)
        if row is None:
            return None
        with self._data_errors():
            return codec.load_rollout(row, task)

    def remember(self, key: str, trajectory: Trajectory) -> str:
        """Store a scored trajectory, unless `key` is taken, and return it as a document.

        Raises:
            ValueError: the attempt is broken.
        """
        return self.insert("rollout", key, codec.dump_rollout(trajectory))

    def recall_call(self, key: str) -> ChatReply | None:
        """The reply stored under `key`, or None."""
        row = self.document("call", key)
        if row is None:
            return None
        with self._data_errors():
            return codec.load_call(row)

    def remember_call(self, key: str, reply: ChatReply) -> str:
        """Store a reply, unless `key` is taken, and return it as a document."""
        return self.insert("call", key, codec.dump_call(reply))

    def forget_call(self, key: str) -> None:
        """Drop the reply stored under `key`, if there is one; the key stays known, and is free."""
        with self._data_errors():
            self._db.execute("UPDATE calls SET body = ? WHERE key = ?", (_FORGOTTEN, key))

    def call_keys(self) -> list[str]:
        """The keys of all calls that have a reply, sorted."""
        query = "SELECT key FROM calls WHERE body != ? ORDER BY key"
        with self._data_errors():
            return [key for (key,) in self._db.execute(query, (_FORGOTTEN,))]

    def has(self, kind: Stored, key: str) -> bool:
        """Whether `key` is known; what was stored under it may be forgotten."""
        return self._body(kind, key) is not None

    def document(self, kind: Stored, key: str) -> str | None:
        """What is stored under `key`, as a document of the codec, or None."""
        return self._body(kind, key) or None

    def insert(self, kind: Stored, key: str, document: str) -> str:
        """Store a document that the codec can read, unless `key` is taken, and return it."""
        query = (
            f"INSERT INTO {kind}s VALUES (?, ?)"
            " ON CONFLICT (key) DO UPDATE SET body = excluded.body WHERE body = ?"
        )
        with self._data_errors():
            self._db.execute(query, (key, document, _FORGOTTEN))
        return document

    def _body(self, kind: Stored, key: str) -> str | None:
        with self._data_errors():
            row = self._db.execute(f"SELECT body FROM {kind}s WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all writes of the block together, or none of them."""
        with self._data_errors():
            self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        # Whatever ended the block, a part of its writes must not stay.
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        with self._data_errors():
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file for good."""
        self._db.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _prepare(self) -> None:
        # NORMAL in WAL mode survives a killed process; only a power cut may lose the last writes,
        # whose calls are then made again.
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

    @contextmanager
    def _data_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            raise DataError(
                f"the journal {self.path} cannot be used: {error}",
                "free disk space or fix its permissions; a damaged journal may be removed,"
                " which costs its rollouts and calls again",
            ) from error
