"""Records the model calls that a run uses, to a file that is written however the run ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt_cli.backends.middleware.recorder import RecordedCalls
from skillopt_cli.core import errors
from skillopt_cli.core.errors import (
    BackendError,
    ConfigError,
    DataError,
    RequestRefused,
    UsageError,
)
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.steering import Steered
from skillopt_cli.core.task import Task
from skillopt_cli.permissions import make_folder
from skillopt_cli.ports import Stored
from skillopt_cli.replay.recording import (
    Failure,
    Header,
    RecordedCall,
    read_calls,
    read_header,
    write_recording,
)
from skillopt_cli.store.files import STATE, FileStore
from skillopt_cli.store.journal import Journal


class RecordingStore(FileStore):
    """A run folder that gives a rollout back only to the process that made it.

    An earlier one is made again from the calls in the journal, which costs nothing and shows which
    calls it rests on.
    """

    def __init__(self, folder: Path, journal: Journal) -> None:
        super().__init__(folder, journal)
        self._made: set[str] = set()

    def recall(self, key: str, task: Task) -> Trajectory | None:
        """A rollout of this process from the journal, or None."""
        return super().recall(key, task) if key in self._made else None

    async def fetch(self, kind: Stored, key: str) -> None:
        """Journal a call that other runs share, and no rollout."""
        if kind == "call":
            await super().fetch(kind, key)

    def remember(self, key: str, trajectory: Trajectory) -> None:
        """Journal a scored rollout."""
        super().remember(key, trajectory)
        self._made.add(key)


@dataclass(frozen=True, slots=True)
class Recorder:
    """Where a run is recorded to, and what it is written from.

    Attributes:
        path: the recording; an existing one is continued.
        recorded: which calls the run used.
        journal: their replies.
        mode: permissions of the run folder, which the recording is written like.
    """

    path: Path
    recorded: RecordedCalls
    journal: Journal
    mode: int

    @contextmanager
    def writing(self, header: Header, steered: Callable[[], tuple[Steered, ...]]) -> Iterator[None]:
        """Write the recording when the block ends, however it does.

        Nothing is written of a run without a call, so that one that could not begin leaves no file.

        Raises:
            ConfigError: the recording to continue is of other models.
            DataError: it cannot be written.
        """
        if self.path.exists() and read_header(self.path).roles != header.roles:
            raise ConfigError(
                f"{self.path} is a recording of other models", "name another file with --record"
            )
        ended_early = ""
        try:
            yield
        # Only to note in the recording what ended the run.
        except BaseException as error:
            ended_early = type(error).__name__
            raise
        finally:
            if self.recorded.calls:
                header = replace(header, steering=steered())
                write_recording(self.path, header, self._calls(), ended_early, self.mode)

    def _calls(self) -> Iterator[RecordedCall]:
        """The recorded calls, in an order that does not depend on when they ended."""
        uses = self.recorded.calls
        for key in sorted(uses, key=lambda key: (uses[key].role or "", uses[key].stage, key)):
            use = uses[key]
            reply = self.journal.recall_call(key)
            failures = tuple(map(failure_of, use.failures))
            if reply is None and not failures:
                continue  # The journal forgot the reply, so a resume makes the call again.
            yield RecordedCall(key, use.role, use.stage, reply, failures)

    def load_earlier(self, folder: Path, *, shared: bool) -> None:
        """Add the calls of the run's earlier processes: in the recording, and in the journal.

        Args:
            folder: the run folder.
            shared: whether the run may have taken attempts, and not their calls, from other runs.

        Raises:
            ConfigError: the calls of such attempts are not known.
            DataError: the existing recording cannot be read.
        """
        if self.path.exists():
            self._load_recording()
        elif shared and (folder / STATE).exists():
            raise ConfigError(
                f"which calls the attempts of {folder} rest on that came from run.cache_dir"
                " is not known",
                "name the recording that its first part was written to, or leave --record out",
            )
        self.recorded.note_all(self.journal.call_keys())

    def _load_recording(self) -> None:
        with self.journal.transaction():
            for call in read_calls(self.path):
                if not isinstance(call, RecordedCall):
                    continue
                use = self.recorded.note(call.key, call.role, call.stage)
                use.failures += [error_of(failure) for failure in call.failures]
                # A reply that the journal forgot since must not come back.
                if call.reply is not None and not self.journal.has("call", call.key):
                    self.journal.remember_call(call.key, call.reply)


def check_recordings(record: Path | None, replay: Path | None, *, resumed: bool) -> None:
    """Check the files of a run to record or to replay, before anything else is done.

    Args:
        resumed: an existing recording is continued rather than refused.

    Raises:
        UsageError: the two exclude each other, or the file to write exists.
        DataError: a recording cannot be read, or the file cannot be written.
    """
    if record is not None and replay is not None:
        raise UsageError("--record and --replay exclude each other", "give one of the two")
    if record is not None:
        _check_writable(record, resumed=resumed)
    if replay is not None:
        for _ in read_calls(replay):
            pass


def _check_writable(record: Path, *, resumed: bool) -> None:
    if record.is_dir():
        raise UsageError(f"{record} is a folder", "name a file with --record")
    if record.exists() and not resumed:
        raise UsageError(
            f"the recording {record} exists already",
            "name another file; `skillopt resume RUN --record FILE` carries on with one",
        )
    try:
        make_folder(record.parent)
        beside = record.with_name(f".{record.name}.tmp")
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise DataError(
            f"the recording {record} cannot be written: {error.strerror or error}",
            "name another file with --record",
        ) from None


def failure_of(error: BackendError) -> Failure:
    """A failed call as it is recorded: by the nearest of the program's own error classes."""
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return Failure(kind.__name__, error.message, error.hint)


def error_of(failure: Failure) -> BackendError:
    """The error to raise for a recorded failure."""
    kind = getattr(errors, failure.error, None)
    if isinstance(kind, type) and issubclass(kind, BackendError):
        return kind(failure.message, failure.hint)
    return RequestRefused(failure.message, failure.hint)
