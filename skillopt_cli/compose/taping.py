"""Recording a run: which of the journal's calls it used, written to a file however it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt_cli import __version__
from skillopt_cli.backends.taped import Tape
from skillopt_cli.compose.replaying import counting_settings, error_of, failure_of
from skillopt_cli.compose.roles import Models, role_spec
from skillopt_cli.compose.secrets import DiscreetStore, Secrets
from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Role
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.steering import Steered
from skillopt_cli.core.task import Task
from skillopt_cli.ports import Benchmark
from skillopt_cli.store.files import STATE
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.recording import (
    Header,
    RecordedCall,
    RecordedRole,
    read_calls,
    read_header,
    write_recording,
)


class TapedStore(DiscreetStore):
    """A run folder that gives a rollout back only to the process that made it.

    An earlier one is made anew from the calls in the journal, which costs nothing and tells which
    calls it rests on.
    """

    def __init__(self, folder: Path, journal: Journal, secrets: Secrets) -> None:
        super().__init__(folder, journal, secrets)
        self._made: set[str] = set()

    def recall(self, key: str, task: Task) -> Trajectory | None:
        """A rollout of this process from the journal, or None."""
        return super().recall(key, task) if key in self._made else None

    def remember(self, key: str, trajectory: Trajectory) -> None:
        """Journal a scored rollout."""
        super().remember(key, trajectory)
        self._made.add(key)


@dataclass(frozen=True, slots=True)
class Recorder:
    """Where a run is recorded to, and what it is written from.

    Attributes:
        path: the recording; one that is there already is carried on.
        secrets: what must not be in it.
    """

    path: Path
    tape: Tape
    journal: Journal
    secrets: Secrets

    @contextmanager
    def writing(self, header: Header, steered: Callable[[], tuple[Steered, ...]]) -> Iterator[None]:
        """Write the recording when the block ends, however it does.

        Nothing is written of a run without a call, so that one that could not begin leaves no file.

        Raises:
            ConfigError: the recording that is to be carried on is of other models.
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
            if self.tape.uses:
                hide = self.secrets.hide
                header = replace(header, steering=steered())
                write_recording(self.path, header, self._calls(), ended_early, hide)

    def _calls(self) -> Iterator[RecordedCall]:
        """What is on the tape, in an order that does not depend on when calls ended."""
        uses = self.tape.uses
        for key in sorted(uses, key=lambda key: (uses[key].role or "", uses[key].stage, key)):
            use = uses[key]
            reply = self.journal.recall_call(key)
            failures = tuple(map(failure_of, use.failures))
            yield RecordedCall(key, use.role, use.stage, reply, failures)


def recorder(
    path: Path, folder: Path, config: RunConfig, journal: Journal, secrets: Secrets
) -> Recorder:
    """The recorder of a run, with the calls of the run's earlier processes on its tape.

    Those are in the recording where it exists already and, for a run with a journal of its own, all
    that is in there.

    Raises:
        ConfigError: the run has a past that cannot be told from that of other runs.
        DataError: the existing recording cannot be read.
    """
    tape = Tape()
    if path.exists():
        _carry_on(path, tape, journal)
    elif config.run.cache_dir and (folder / STATE).exists():
        raise ConfigError(
            f"which calls in the shared journal {journal.path} are those of {folder}"
            " cannot be told",
            "name the recording that its first part was written to, or leave --record out",
        )
    if not config.run.cache_dir:
        tape.note_all(journal.call_keys())
    return Recorder(path, tape, journal, secrets)


def recording_header(config: RunConfig, models: Models, benchmark: Benchmark) -> Header:
    """Who answers in this run, and to what."""
    roles: dict[Role, RecordedRole] = {}
    for role in models.names:
        chat = models.live.get(role)
        roles[role] = RecordedRole(
            name=chat.name if chat else role_spec(config, role).name,
            fingerprint=chat.fingerprint if chat else "",
            offers=tuple(sorted(chat.offers)) if chat else (),
            settings=counting_settings(config, role),
        )
    return Header(__version__, f"{benchmark.name}/{benchmark.version}", roles)


def _carry_on(path: Path, tape: Tape, journal: Journal) -> None:
    with journal.filling():
        for call in read_calls(path):
            if not isinstance(call, RecordedCall):
                continue
            use = tape.note(call.key, call.role, call.stage)
            use.failures += [error_of(failure) for failure in call.failures]
            if call.reply is not None:
                journal.remember_call(call.key, call.reply)
