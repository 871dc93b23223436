"""What a session is opened for, from settings, recordings and a skill."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt_cli import __version__
from skillopt_cli.compose.endpoints import roles_of
from skillopt_cli.compose.fingerprint import begun_by
from skillopt_cli.compose.replaying import check_replayable
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.compose.trust import require_consent
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import Resolved, Strength, leaf_layer
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Role
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import TaskSet
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.ports import Benchmark
from skillopt_cli.replay.recorder import check_recordings
from skillopt_cli.replay.recording import read_header
from skillopt_cli.runlog.remaining import Schedule
from skillopt_cli.runlog.run_log import RunLog


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a session is opened for.

    Attributes:
        environment: variables by name, read once by the caller.
        observers: displays and trackers; they cannot steer or break the run.
        sources: where the settings come from that are no defaults, by dotted key.
        unused: what of own tasks no attempt reads, in a few words.
        measured: what an evaluation measures; None for a training.
        scored: whether attempts are scored; where not, tasks need no answers.
        skill: the skill to evaluate; a training begins with the configured seed.
        arms: further skills to evaluate in the same pass.
        skill_from: where that was read; empty for an empty skill.
        resumable: whether the folder of an evaluation holds all that a resume needs.
        allow_drift: go on although conditions changed.
        record: where to write the calls that were used, when the run ends.
        replay: the recording to answer every call from, in the place of models.
        calls: whether models are called; where they are not, no key is needed.
        benchmark: the configured one, where it is open already.
        schedule: how long the parts of a training will take, where that was planned; it is kept in
            the run folder.
        log: of the run folder, where it was read already; it takes in the facts of the session.
        clock: Unix time in seconds.
    """

    config: RunConfig
    environment: Mapping[str, str]
    observers: Sequence[Subscriber] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    unused: str = ""
    measured: TaskSet | None = None
    scored: bool = True
    skill: SkillDocument | None = None
    arms: tuple[SkillDocument, ...] = ()
    skill_from: str = ""
    resumable: bool = False
    allow_drift: bool = False
    record: Path | None = None
    replay: Path | None = None
    calls: bool = True
    benchmark: Benchmark | None = None
    schedule: Schedule | None = None
    log: RunLog | None = None
    clock: Callable[[], float] = time.time

    @property
    def training(self) -> bool:
        """Whether a skill is trained, rather than evaluated."""
        return self.measured is None

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that are asked."""
        return roles_of(self.config, training=self.training) if self.scored else ("target",)

    @property
    def skill_path(self) -> Path:
        """Where the skill is read from that is trained or evaluated; empty where it is no file."""
        return Path(self.config.env.skill_init if self.training else self.skill_from)

    def with_observers(self, observers: Sequence[Subscriber]) -> RunRequest:
        """The request with more observers."""
        return replace(self, observers=(*self.observers, *observers))


def run_request(
    overrides: Overrides,
    environment: Mapping[str, str],
    record: Path | None = None,
    replay: Path | None = None,
    *,
    resumed: bool = False,
) -> RunRequest:
    """The request of a run with these settings; consent is given and its recordings are checked.

    Args:
        record: where to write the calls that are used; an existing file is continued if `resumed`.
        replay: the recording to answer every call from, so that no endpoint and no key is needed.

    Raises:
        ConfigError: a setting cannot be used, or the target's calls cannot be recorded.
        NotTrusted: a file asks for something to which the user does not agree.
        UsageError, DataError: a recording cannot be used.
    """
    overrides = replace(overrides, resumed=resumed)
    try:
        resolved = _resolved(overrides, environment, replay)
    except ConfigError as error:
        begun = begun_by(overrides.config.parent) if resumed and overrides.config else ""
        if begun in ("", __version__):
            raise
        hint = f"{error.hint}; skillopt {begun} began the run and can resume it"
        raise ConfigError(error.message, hint) from error
    require_consent(overrides, resolved, environment, replayed=replay is not None)
    check_recordings(record, replay, resumed=resumed)
    if record is not None:
        check_replayable(resolved.config, "leave --record out, or take another target backend")
    return RunRequest(
        resolved.config,
        environment,
        sources=resolved.sources,
        unused=resolved.unused,
        scored=overrides.scored,
        record=record,
        replay=replay,
    )


def _resolved(
    overrides: Overrides, environment: Mapping[str, str], replay: Path | None
) -> Resolved:
    """The configuration; a replay reaches no model, and its recording may name the benchmark."""
    if replay is None:
        return settle(overrides, environment)
    unreached = replace(overrides, roles=())
    resolved = settle(unreached, environment)
    if resolved.config.env.name:
        return resolved
    if not (name := read_header(replay).benchmark.rpartition("/")[0]):
        return settle(overrides, environment)
    recorded = leaf_layer(str(replay), "env.name", name, Strength.DEFAULT, file=replay)
    return settle(replace(unreached, layers=[*overrides.layers, recorded]), environment)
