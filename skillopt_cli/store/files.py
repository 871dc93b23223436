"""The run folder: checkpoint, event log, and copies for people."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import Stamped
from skillopt_cli.core.folder import SKILL_FILE
from skillopt_cli.core.regular import open_regular, read_regular
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import ChatReply, Task
from skillopt_cli.skill_folder import lay_out
from skillopt_cli.store import codec
from skillopt_cli.store.journal import Journal

STATE = "state.json"
PREVIOUS_STATE = "state.prev.json"
EVENTS = "events.jsonl"

LONGEST_LINE = 1 << 26
"""Bytes of a line of the log, many times those of the largest fact."""
_TAIL_BLOCK = 1 << 16


class FileStore:
    """A `Store` in a run folder. Reading changes nothing; files are opened on the first write.

    Args:
        folder: the run folder, made when first written to.
        journal: rollouts and calls; opened and closed by the caller.
    """

    def __init__(self, folder: Path, journal: Journal) -> None:
        self.folder = folder
        self._journal = journal
        self._log: FileIO | None = None
        self._last_number: int | None = None
        self._checkpoint: str | None = None

    def load_state(self) -> TrainState | None:
        """The last checkpoint, the one before when that is damaged, None when there is none.

        Raises:
            DataError: no checkpoint can be read, or a newer version wrote it.
        """
        faults: list[str] = []
        for name in (STATE, PREVIOUS_STATE):
            try:
                text = read_regular(self.folder / name).decode()
                state = codec.load_state(text)
            except FileNotFoundError:
                continue
            except (OSError, ValueError):
                faults.append(name)
                continue
            self._checkpoint = text
            return state
        if faults:
            raise DataError(
                f"no checkpoint of {self.folder} can be read: {' and '.join(faults)} damaged",
                "start a new run; with the same run.cache_dir it repeats no rollout",
            )
        return None

    def save_state(self, state: TrainState) -> None:
        """Replace the checkpoint atomically; the one before is kept beside it.

        The log reaches the disk first, so a checkpoint never knows more than the log.
        """
        if self._checkpoint is None:
            self.load_state()
        if self._log is not None:
            with _writing(self.folder / EVENTS):
                os.fsync(self._log.fileno())
        if self._checkpoint is not None:
            # What was read or written last, not what lies there: that may be the damaged file.
            replace_text(self.folder / PREVIOUS_STATE, self._checkpoint, durable=True)
        text = codec.dump_state(state)
        replace_text(self.folder / STATE, text, durable=True)
        self._checkpoint = text

    def append(self, fact: Stamped) -> None:
        """Add a fact to the log; it survives the death of the process once this returns."""
        line = codec.dump_fact(fact).encode() + b"\n"
        with _writing(self.folder / EVENTS):
            if self._log is None:
                self._log = self._open_log()
            try:
                while line:
                    line = line[self._log.write(line) :]
            except OSError:
                self.close()  # the next append opens the log again and cuts what was half written
                raise
        self._last_number = fact.number

    def facts(self) -> Iterator[Stamped]:
        """The log from its start; a last line without its end is left out.

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
            line = _last_line(path)
            self._last_number = read_fact(path, "the last line", line).number if line else 0
        return self._last_number

    def recall(self, key: str, task: Task) -> Trajectory | None:
        """A rollout from the journal."""
        return self._journal.recall(key, task)

    def remember(self, key: str, trajectory: Trajectory) -> None:
        """Journal a scored rollout; ValueError for a broken one."""
        self._journal.remember(key, trajectory)

    def recall_call(self, key: str) -> ChatReply | None:
        """A model call's reply from the journal."""
        return self._journal.recall_call(key)

    def remember_call(self, key: str, reply: ChatReply) -> None:
        """Journal a model call's reply."""
        self._journal.remember_call(key, reply)

    def keep(self, path: str, text: str) -> None:
        """Write `text` at `path` inside the run folder, atomically, making folders as needed.

        Raises:
            ValueError: the path is empty, absolute or leads out of the folder.
        """
        replace_text(self.folder / inner_path(path), text)

    def keep_folder(self, path: str, skill: SkillDocument) -> None:
        """Lay a skill folder out inside the run folder, in the place of what is there.

        Raises:
            ValueError: as `keep`.
            DataError: as `lay_out`.
        """
        replace_folder(self.folder / inner_path(path), skill)

    def close(self) -> None:
        """Close the log. A later append opens it again."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def __enter__(self) -> FileStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open_log(self) -> FileIO:
        """The log, ready for appending, without the torn line a killed process may have left."""
        path = self.folder / EVENTS
        self.folder.mkdir(parents=True, exist_ok=True)
        log = path.open("ab", buffering=0)
        end = _end_of_lines(path)
        if end < path.stat().st_size:
            log.truncate(end)
        return log


def inner_path(path: str) -> PurePosixPath:
    """`path` as a relative path that cannot leave the folder it is joined to.

    Raises:
        ValueError: it is empty, absolute or has a part `..`.
    """
    inner = PurePosixPath(path)
    if inner.is_absolute() or not inner.parts or ".." in inner.parts or "\0" in path:
        raise ValueError(f"path {path!r} leaves the run folder")
    return inner


def replace_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a file so that a reader sees the old text or the new one, never a part.

    Args:
        path: the file; its folders are made when missing.
        text: written as UTF-8, byte for byte; half a surrogate pair as its escape.
        durable: also survive a power cut.

    Raises:
        DataError: the disk is full or the folder not writable.
    """
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.parent / f".{secrets.token_hex(6)}.tmp"
        try:
            with draft.open("xb") as file:
                file.write(text.encode(errors="backslashreplace"))
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        if durable:
            _sync_folder(path.parent)


def replace_folder(path: Path, skill: SkillDocument) -> None:
    """Write a skill folder so that a reader sees the old one or the new one, or for a moment none.

    Raises:
        DataError: it cannot be written, or a file of the skill changed since it was read.
    """
    mark = secrets.token_hex(6)
    draft, old = (path.parent / f".{mark}.{ending}" for ending in ("tmp", "old"))
    with _writing(path):
        try:
            draft.mkdir(parents=True)
            (draft / SKILL_FILE).write_bytes(skill.text.encode(errors="backslashreplace"))
            if skill.folder is not None:
                lay_out(skill.folder, draft)
            if path.exists():
                path.rename(old)
            draft.rename(path)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)


def read_line(path: Path, number: int, log: BinaryIO) -> bytes:
    """The next line of a log; empty at its end, and where its writer is not done with the line.

    Raises:
        DataError: it is longer than any fact.
    """
    line = log.readline(LONGEST_LINE)
    if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
        raise _too_long(path, f"line {number}")
    return line if line.endswith(b"\n") else b""


def read_fact(path: Path, where: str, line: bytes) -> Stamped:
    """The fact in a line of a log; raises DataError, naming file and place, where there is none."""
    try:
        return codec.load_fact(line)
    except ValueError as error:
        raise DataError(
            f"{where} of {path} is not a fact",
            "remove that line, or restore the file from a copy",
        ) from error


def _too_long(path: Path, where: str) -> DataError:
    return DataError(
        f"{where} of {path} is longer than any fact: it has {LONGEST_LINE:,} bytes or more",
        "remove that line, or restore the file from a copy",
    )


def _end_of_lines(path: Path) -> int:
    """Bytes up to and including the last line end."""
    with open_regular(path) as file:
        at = file.seek(0, os.SEEK_END)
        while at > 0:
            start = max(at - _TAIL_BLOCK, 0)
            file.seek(start)
            cut = file.read(at - start).rfind(b"\n")
            if cut >= 0:
                return start + cut + 1
            at = start
    return 0


def _last_line(path: Path) -> bytes:
    """The last whole line, empty when there is none."""
    try:
        end = _end_of_lines(path)
    except FileNotFoundError:
        return b""
    block = _TAIL_BLOCK
    with open_regular(path) as file:
        while True:
            start = max(end - block, 0)
            file.seek(start)
            lines = file.read(end - start).split(b"\n")
            if len(lines) > 2 or start == 0:
                return lines[-2] if len(lines) > 1 else b""
            if block > LONGEST_LINE:
                raise _too_long(path, "the last line")
            block *= 2


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {error.strerror or error}",
            "free disk space or mend the folder's permissions, then `skillopt resume` the run",
        ) from error
