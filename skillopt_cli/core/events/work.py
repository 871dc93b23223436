"""Facts about work under way: stages, attempts, calls, and what went less well than asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.task import Ending, Usage

Role = Literal["target", "optimizer", "judge"]
StageName = Literal[
    "rollout",
    "reflect",
    "aggregate",
    "select",
    "verify",
    "check",
    "update",
    "measure",
    "slow_update",
    "meta_skill",
    "prune",
    "test",
    "answer",
]
ATTEMPTING: tuple[StageName, ...] = (
    "rollout",
    "verify",
    "check",
    "measure",
    "slow_update",
    "prune",
    "test",
    "answer",
)
"""Stages in which the target attempts tasks."""


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
    """An attempt ended.

    Attributes:
        hard, soft: its scores, None when it is broken.
        recalled: whether the journal had it.
        skill_loaded: whether an agent's program brought the skill before its model; None where
            that cannot be known.
    """

    step: int
    stage: StageName
    task: str
    hard: float | None
    soft: float | None
    ending: Ending
    recalled: bool
    error: str = ""
    label: str = ""
    skill_loaded: bool | None = None
    kind: Literal["rollout_finished"] = "rollout_finished"


@dataclass(frozen=True, slots=True)
class CallMade:
    """A model call was answered and paid for.

    Attributes:
        usd: its price in US dollars; None where the model's price or the usage is unknown.
        turn: position in an episode; a target's call of turn 0 begins a rollout.
    """

    role: Role
    stage: str
    usage: Usage
    usd: float | None = None
    turn: int = 0
    kind: Literal["call_made"] = "call_made"


@dataclass(frozen=True, slots=True)
class CallFailed:
    """One try of a model call failed.

    Attributes:
        error: name of the error's class, such as "RateLimited".
        usage: what it cost all the same; None for nothing, as far as the service reported.
        usd: the price of that usage.
    """

    role: Role
    stage: str
    error: str
    usage: Usage | None = None
    usd: float | None = None
    kind: Literal["call_failed"] = "call_failed"


@dataclass(frozen=True, slots=True)
class CallRetried:
    """A model call failed in a way another try may overcome, and will be tried again."""

    role: Role
    stage: str
    reason: str
    wait: float
    kind: Literal["call_retried"] = "call_retried"


@dataclass(frozen=True, slots=True)
class ParameterRefused:
    """A model does not take an optional parameter; it is not sent again."""

    role: Role
    model: str
    parameter: str
    kind: Literal["parameter_refused"] = "parameter_refused"


OUTAGE = "outage"
"""`PaceChanged.reason` begins with it while a service answers nothing but failures."""


@dataclass(frozen=True, slots=True)
class PaceChanged:
    """The calls to a model were slowed down, or may be faster again.

    Attributes:
        provider: backend and address.
        in_flight: most calls at a time from now on.
        per_minute: most calls begun per minute from now on; None while nothing limits them.
        reason: the service's message or behaviour; begins with `OUTAGE` during an outage.
    """

    provider: str
    model: str
    in_flight: int
    per_minute: float | None
    reason: str
    kind: Literal["pace_changed"] = "pace_changed"


@dataclass(frozen=True, slots=True)
class BudgetSpent:
    """A mark of a cap was passed: `spent` of `limit`, in the unit of the cap's name.

    Attributes:
        cap: such as "max_usd".
        share: the mark, 0.5, 0.8 or 1.0.
    """

    cap: str
    spent: float
    limit: float
    share: float
    kind: Literal["budget_spent"] = "budget_spent"


@dataclass(frozen=True, slots=True)
class JudgedTwice:
    """An answer was judged a second time, to measure how steady the judge is; the first counts.

    Attributes:
        stage: what the attempt was for.
        agree: whether both verdicts gave the same hard score.
    """

    step: int
    stage: str
    task: str
    agree: bool
    kind: Literal["judged_twice"] = "judged_twice"


BUDGET = "budget"
"""`Degraded.where` for caps."""
CACHE = "cache"
"""`Degraded.where` for the shared cache."""
CLUSTER = "cluster"
"""`Degraded.where` for workers of a cluster that were lost, or work in a weaker way."""
CONTROL = "control"
"""`Degraded.where` for steering."""
SECRETS = "secrets"
"""`Degraded.where` for what was hidden."""
REPLY = "replies"
"""`Degraded.where` ends with it for what is left out of a role's replies."""
NOTICED = frozenset({"target", "optimizer", "judge", "skill", "data"})
"""`Degraded.where` of what each process of a run states as it begins: advice, no mishap."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """Something went on in a weaker way than asked for; counted in the summary."""

    where: str
    reason: str
    kind: Literal["degraded"] = "degraded"

    @property
    def of_step(self) -> bool:
        """Whether it is about the step under way, and not about the run, as these places are."""
        of_run = (BUDGET, CACHE, CLUSTER, CONTROL, SECRETS)
        return self.where not in of_run and not self.where.endswith(REPLY)
