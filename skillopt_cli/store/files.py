"""The run folder: checkpoint, event log, and copies for people."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import Stamped
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import ChatReply, Task
from skillopt_cli.permissions import make_folder, opener
from skillopt_cli.ports import Stored
from skillopt_cli.safe_files import open_regular, read_regular
from skillopt_cli.store import codec
from skillopt_cli.store.atomic_files import (
    inner_path,
    replace_bytes,
    replace_folder,
    replace_text,
    write_errors,
)
from skillopt_cli.store.event_log import read_fact
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.layout import EVENTS
from skillopt_cli.store.log_lines import end_of_lines, last_line, read_line
from skillopt_cli.store.shared_cache import SharedCache

STATE = "state.json"
PREVIOUS_STATE = "state.prev.json"


class FileStore:
    """A `Store` in a run folder. Reading changes nothing; files are opened on the first write.

    Attributes:
        passed_over: why the last checkpoint that was read is not the newest; "" if it is.
        shared: the cache that the run has in common with others, once it is open.

    Args:
        folder: the run folder, created by the first write.
        journal: rollouts and calls; opened and closed by the caller.
    """

    def __init__(self, folder: Path, journal: Journal) -> None:
        self.folder = folder
        self._journal = journal
        self._log: FileIO | None = None
        self._last_number: int | None = None
        self._checkpoint: str | None = None
        self.passed_over = ""
        self.shared: SharedCache | None = None

    def load_state(self) -> TrainState | None:
        """The last checkpoint, the previous one if that is damaged, None if there is none.

        Raises:
            DataError: no checkpoint can be read, or it has a newer schema.
        """
        faults: list[str] = []
        missing: list[str] = []
        for name in (STATE, PREVIOUS_STATE):
            try:
                text = read_regular(self.folder / name).decode()
                state = codec.load_state(text)
            except FileNotFoundError:
                missing.append(name)
                continue
            except (OSError, ValueError):
                faults.append(name)
                continue
            except DataError as error:
                raise DataError(f"{self.folder / name}: {error.message}", error.hint) from error
            self._checkpoint = text
            if faults or missing:
                what = f"{STATE} is {'damaged' if faults else 'missing'}"
                self.passed_over = f"{what}; the run goes on from the one before"
            return state
        if faults:
            raise DataError(
                f"no checkpoint of {self.folder} can be read: {' and '.join(faults)} damaged",
                "start a new run; with the same run.cache_dir it repeats no rollout",
            )
        return None

    def save_state(self, state: TrainState) -> None:
        """Replace the checkpoint atomically, and keep the previous one beside it.

        The log is synced first, so a checkpoint never contains more than the log.
        """
        if self._checkpoint is None:
            self.load_state()
        if self._log is not None:
            with write_errors(self.folder / EVENTS):
                os.fsync(self._log.fileno())
        if self._checkpoint is not None:
            # The text read or written last, since the file itself may be damaged.
            replace_text(self.folder / PREVIOUS_STATE, self._checkpoint, durable=True)
        text = codec.dump_state(state)
        replace_text(self.folder / STATE, text, durable=True)
        self._checkpoint = text

    def append(self, fact: Stamped) -> None:
        """Append a fact to the log; it survives a killed process once this returns."""
        line = codec.dump_fact(fact).encode() + b"\n"
        with write_errors(self.folder / EVENTS):
            if self._log is None:
                self._log = self._open_log()
            try:
                while line:
                    line = line[self._log.write(line) :]
            except OSError:
                self.close()  # the next append opens the log again and truncates a torn line
                raise
        self._last_number = fact.number

    def facts(self) -> Iterator[Stamped]:
        """The log from its start, without an incomplete last line.

        Raises:
            DataError: another line cannot be read.
        """
        path = self.folder / EVENTS
        try:
            log = open_regular(path)
        except FileNotFoundError:
            return
        with log:
            number = 1
            while line := read_line(path, number, log):
                yield read_fact(path, f"line {number}", line)
                number += 1

    @property
    def last_number(self) -> int:
        """Number of the last logged fact, 0 for an empty log; raises as `facts` does."""
        if self._last_number is None:
            path = self.folder / EVENTS
            line = last_line(path)
            self._last_number = read_fact(path, "the last line", line).number if line else 0
        return self._last_number

    def recall(self, key: str, task: Task) -> Trajectory | None:
        """A rollout from the journal."""
        return self._journal.recall(key, task)

    def remember(self, key: str, trajectory: Trajectory) -> None:
        """Journal a scored rollout, and share it; ValueError for a broken one."""
        document = self._journal.remember(key, trajectory)
        if self.shared is not None:
            self.shared.share("rollout", key, document)

    def recall_call(self, key: str) -> ChatReply | None:
        """A model call's reply from the journal."""
        return self._journal.recall_call(key)

    def remember_call(self, key: str, reply: ChatReply) -> None:
        """Journal a model call's reply, and share it."""
        document = self._journal.remember_call(key, reply)
        if self.shared is not None:
            self.shared.share("call", key, document)

    def forget_call(self, key: str) -> None:
        """Drop a reply, if there is one; that of the shared cache is not taken instead."""
        self._journal.forget_call(key)

    async def fetch(self, kind: Stored, key: str) -> None:
        """Journal what the shared cache holds under `key`, where the journal lacks it."""
        if self.shared is None or self._journal.has(kind, key):
            return
        document = await self.shared.fetch(kind, key)
        if document is not None:
            self._journal.insert(kind, key, document)

    async def flush(self) -> None:
        """Wait until the shared cache holds what was remembered, or cannot."""
        if self.shared is not None:
            await self.shared.flush()

    def keep(self, path: str, text: str) -> None:
        """Write `text` at `path` inside the run folder, atomically; missing folders are created.

        Raises:
            ValueError: the path is empty, absolute or leads out of the folder.
        """
        data = text.encode(errors="backslashreplace")
        replace_bytes(self.folder / inner_path(path), data, drafts=self.folder)

    def keep_folder(self, path: str, skill: SkillDocument) -> None:
        """Write a skill folder inside the run folder, replacing what is there.

        Raises:
            ValueError: as `keep`.
            DataError: as `write_companions`.
        """
        replace_folder(self.folder / inner_path(path), skill, drafts=self.folder)

    def close(self) -> None:
        """Close the log; a later append opens it again."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def __enter__(self) -> FileStore:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open_log(self) -> FileIO:
        """Open the log for appending, without the torn line of a killed process."""
        path = self.folder / EVENTS
        make_folder(self.folder)
        log = open(path, "ab", buffering=0, opener=opener)  # noqa: SIM115 - closed by `close`
        end = end_of_lines(path)
        if end < path.stat().st_size:
            log.truncate(end)
        return log
