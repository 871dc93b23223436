"""Facts: the closed union of what can happen in a run.

Frozen, past tense, ids and numbers, no clock: the bus stamps number and time (`Stamped`). History,
reports and every user interface are folds over these.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt_cli.core.events.control import (
    EditVetoed,
    HintGiven,
    PauseDropped,
    PausePlanned,
    RunContinued,
    RunPaused,
    SettingChanged,
    StopRequested,
    VetoDropped,
)
from skillopt_cli.core.events.epoch import (
    EpochCompared,
    MemoryWritten,
    SlowUpdateAction,
    SlowUpdateDecided,
)
from skillopt_cli.core.events.measured import (
    BaselineMeasured,
    BlockTried,
    CheckpointSaved,
    Means,
    SkillPruned,
    TestMeasured,
    VerdictReached,
)
from skillopt_cli.core.events.run import (
    DriftAllowed,
    Limits,
    PreflightPassed,
    RunFailed,
    RunFinished,
    RunStarted,
    StoppedEarly,
    SubscriberDropped,
)
from skillopt_cli.core.events.step import (
    AppendixWritten,
    BatchScored,
    CandidateMade,
    EditsChosen,
    EditsMerged,
    EditsVerified,
    GateDecided,
    LearningRateChosen,
    PassingChecked,
    PatchesProposed,
    StepSkipped,
    StepStarted,
)
from skillopt_cli.core.events.work import (
    ATTEMPTING,
    BUDGET,
    CACHE,
    CLUSTER,
    CONTROL,
    NOTICED,
    OUTAGE,
    REPLY,
    SECRETS,
    BudgetSpent,
    CallFailed,
    CallMade,
    CallRetried,
    Degraded,
    JudgedTwice,
    PaceChanged,
    ParameterRefused,
    Role,
    RolloutFinished,
    StageFinished,
    StageName,
    StageStarted,
)

__all__ = [
    "ATTEMPTING",
    "BUDGET",
    "CACHE",
    "CLUSTER",
    "CONTROL",
    "NOTICED",
    "OUTAGE",
    "REPLY",
    "SECRETS",
    "AppendixWritten",
    "BaselineMeasured",
    "BatchScored",
    "BlockTried",
    "BudgetSpent",
    "CallFailed",
    "CallMade",
    "CallRetried",
    "CandidateMade",
    "CheckpointSaved",
    "Degraded",
    "DriftAllowed",
    "EditVetoed",
    "EditsChosen",
    "EditsMerged",
    "EditsVerified",
    "EpochCompared",
    "GateDecided",
    "HintGiven",
    "JudgedTwice",
    "LearningRateChosen",
    "Limits",
    "Means",
    "MemoryWritten",
    "PaceChanged",
    "ParameterRefused",
    "PassingChecked",
    "PatchesProposed",
    "PauseDropped",
    "PausePlanned",
    "PreflightPassed",
    "Role",
    "RolloutFinished",
    "RunContinued",
    "RunEvent",
    "RunFailed",
    "RunFinished",
    "RunPaused",
    "RunStarted",
    "SettingChanged",
    "SkillPruned",
    "SlowUpdateAction",
    "SlowUpdateDecided",
    "StageFinished",
    "StageName",
    "StageStarted",
    "Stamped",
    "StepSkipped",
    "StepStarted",
    "StopRequested",
    "StoppedEarly",
    "SubscriberDropped",
    "TestMeasured",
    "VerdictReached",
    "VetoDropped",
]

RunEvent = (
    RunStarted
    | DriftAllowed
    | PreflightPassed
    | BaselineMeasured
    | StepStarted
    | StageStarted
    | StageFinished
    | RolloutFinished
    | CallMade
    | CallFailed
    | CallRetried
    | ParameterRefused
    | JudgedTwice
    | PaceChanged
    | BudgetSpent
    | BatchScored
    | PatchesProposed
    | EditsMerged
    | LearningRateChosen
    | EditsChosen
    | EditsVerified
    | PassingChecked
    | AppendixWritten
    | CandidateMade
    | StepSkipped
    | GateDecided
    | EpochCompared
    | SlowUpdateDecided
    | MemoryWritten
    | CheckpointSaved
    | SkillPruned
    | TestMeasured
    | VerdictReached
    | Degraded
    | StoppedEarly
    | PausePlanned
    | PauseDropped
    | RunPaused
    | RunContinued
    | StopRequested
    | SettingChanged
    | EditVetoed
    | VetoDropped
    | HintGiven
    | SubscriberDropped
    | RunFinished
    | RunFailed
)


@dataclass(frozen=True, slots=True)
class Stamped:
    """A fact with its number (from 1, over all processes of the run) and time (Unix seconds)."""

    number: int
    time: float
    event: RunEvent
