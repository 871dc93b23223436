"""Facts about a run as a whole: its start, its conditions, its ending."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.events.measured import CheckpointSaved
from skillopt_cli.core.events.work import Role


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits a process works within, as they are in force.

    Attributes:
        workers: attempts in flight.
        analyst_workers: optimizer calls in flight; 0 where no optimizer is asked.
        max_concurrency: calls in flight per provider.
        caps: by name (max_usd, max_calls, ...) in the unit of the name; only those that are set.
    """

    workers: int
    analyst_workers: int
    max_concurrency: int
    caps: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A process began, or took up, a run with `done` steps recorded.

    Attributes:
        recorded: progress by the run's checkpoint, which the process before may not have
            lived to state; None at the beginning.
        limits: None in logs of versions that did not record them.
        optimizer: "none" in an evaluation, which asks none.
        judge: "" where the benchmark needs none, and in logs of versions that did not record it.
        skill: where the skill lies that an evaluation measures, "" for an empty one; None in a
            training, and in logs of versions that did not record it.
        skill_title: its first line.
        read_only: files beside SKILL.md that a training may not edit, since `env.editable` is not
            set; 0 where no edit could name them.
        replay: the recording that the run began as a replay of; "" of a run that calls models, and
            in logs of versions that did not record it.
    """

    run_id: str
    benchmark: str
    done: int
    total_steps: int
    epochs: int
    optimizer: str
    target: str
    data: str
    n_train: int
    n_selection: int
    n_test: int
    metric: str
    recorded: CheckpointSaved | None = None
    limits: Limits | None = None
    judge: str = ""
    skill: str | None = None
    skill_title: str = ""
    read_only: int = 0
    replay: str = ""
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class DriftAllowed:
    """A resume went on under changed conditions, as the user asked."""

    changes: tuple[str, ...]
    kind: Literal["drift_allowed"] = "drift_allowed"


@dataclass(frozen=True, slots=True)
class PreflightPassed:
    """One tiny call to a role's model succeeded."""

    role: Role
    model: str
    kind: Literal["preflight_passed"] = "preflight_passed"


@dataclass(frozen=True, slots=True)
class SubscriberDropped:
    """An observer failed and hears nothing more; the run goes on.

    Attributes:
        hint: what may be done about it; empty when there is nothing to suggest.
    """

    name: str
    reason: str
    hint: str = ""
    kind: Literal["subscriber_dropped"] = "subscriber_dropped"


@dataclass(frozen=True, slots=True)
class StoppedEarly:
    """There was nothing more to gain."""

    reason: str
    kind: Literal["stopped_early"] = "stopped_early"


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run ended as planned. `best_epoch` is as in `CheckpointSaved`."""

    done: int
    best_step: int
    best_score: float | None
    exit_code: int
    best_epoch: int = 0
    kind: Literal["run_finished"] = "run_finished"


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended before its plan; `resumable` when `skillopt resume` can take it up.

    Attributes:
        reached: the cap of `run` that ended it, such as `max_usd`; empty where none did.
    """

    error: str
    message: str
    hint: str
    exit_code: int
    resumable: bool
    reached: str = ""
    kind: Literal["run_failed"] = "run_failed"
