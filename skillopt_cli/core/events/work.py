"""Facts about work under way: stages, attempts, calls, and what went less well than asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.task import Ending, Usage

Role = Literal["target", "optimizer"]
StageName = Literal[
    "rollout",
    "reflect",
    "aggregate",
    "select",
    "update",
    "measure",
    "slow_update",
    "meta_skill",
    "test",
]


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage began: `total` units of work, at most `workers` at a time. Step 0 is the baseline."""

    step: int
    stage: StageName
    total: int
    workers: int
    label: str = ""
    kind: Literal["stage_started"] = "stage_started"


@dataclass(frozen=True, slots=True)
class StageFinished:
    """A stage ended."""

    step: int
    stage: StageName
    label: str = ""
    kind: Literal["stage_finished"] = "stage_finished"


@dataclass(frozen=True, slots=True)
class RolloutFinished:
    """An attempt ended. Scores are None when it is broken; `recalled` when the journal had it."""

    step: int
    stage: StageName
    task: str
    hard: float | None
    soft: float | None
    ending: Ending
    recalled: bool
    error: str = ""
    label: str = ""
    kind: Literal["rollout_finished"] = "rollout_finished"


@dataclass(frozen=True, slots=True)
class CallMade:
    """A model call was answered and paid for."""

    role: Role
    stage: str
    usage: Usage
    kind: Literal["call_made"] = "call_made"


@dataclass(frozen=True, slots=True)
class CallRetried:
    """A model call failed in a way another try may mend, and will be tried again."""

    role: Role
    stage: str
    reason: str
    wait: float
    kind: Literal["call_retried"] = "call_retried"


@dataclass(frozen=True, slots=True)
class Degraded:
    """Something went on in a weaker way than asked for; counted in the summary."""

    where: str
    reason: str
    kind: Literal["degraded"] = "degraded"
