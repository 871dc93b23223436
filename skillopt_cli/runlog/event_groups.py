"""Facts in groups, by what of a run they tell. Together they are all of `RunEvent`."""

from __future__ import annotations

from skillopt_cli.core import events as ev

RunFact = (
    ev.RunStarted
    | ev.DriftAllowed
    | ev.PreflightPassed
    | ev.SubscriberDropped
    | ev.RunFinished
    | ev.RunFailed
)
WorkFact = ev.StageStarted | ev.StageFinished | ev.RolloutFinished
CallFact = (
    ev.CallMade
    | ev.CallFailed
    | ev.CallRetried
    | ev.ParameterRefused
    | ev.PaceChanged
    | ev.BudgetSpent
    | ev.JudgedTwice
)
StepFact = (
    ev.StepStarted
    | ev.BatchScored
    | ev.PatchesProposed
    | ev.EditsMerged
    | ev.LearningRateChosen
    | ev.EditsChosen
    | ev.EditsVerified
    | ev.PassingChecked
    | ev.AppendixWritten
    | ev.CandidateMade
    | ev.StepSkipped
    | ev.GateDecided
)
ControlFact = (
    ev.PausePlanned
    | ev.PauseDropped
    | ev.RunPaused
    | ev.RunContinued
    | ev.StopRequested
    | ev.SettingChanged
    | ev.EditVetoed
    | ev.VetoDropped
    | ev.HintGiven
)
EpochFact = ev.EpochCompared | ev.SlowUpdateDecided | ev.MemoryWritten
ResultFact = (
    ev.BaselineMeasured
    | ev.CheckpointSaved
    | ev.SkillPruned
    | ev.TestMeasured
    | ev.VerdictReached
    | ev.Degraded
    | ev.StoppedEarly
)
