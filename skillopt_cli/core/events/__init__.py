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
)
from skillopt_cli.core.events.epoch import (
    EpochCompared,
    MemoryWritten,
    SlowUpdateAction,
    SlowUpdateDecided,
)
from skillopt_cli.core.events.measured import (
    BaselineMeasured,
    CheckpointSaved,
    Means,
    TestMeasured,
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
    GateDecided,
    LearningRateChosen,
    PatchesProposed,
    StepSkipped,
    StepStarted,
)
from skillopt_cli.core.events.work import (
    BUDGET,
    CONTROL,
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
    "BUDGET",
    "CONTROL",
    "AppendixWritten",
    "BaselineMeasured",
    "BatchScored",
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
    | AppendixWritten
    | CandidateMade
    | StepSkipped
    | GateDecided
    | EpochCompared
    | SlowUpdateDecided
    | MemoryWritten
    | CheckpointSaved
    | TestMeasured
    | Degraded
    | StoppedEarly
    | PausePlanned
    | PauseDropped
    | RunPaused
    | RunContinued
    | StopRequested
    | SettingChanged
    | EditVetoed
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
