"""Facts: the closed union of what can happen in a run.

Frozen, past tense, ids and numbers, no clock: the bus stamps number and time (`Stamped`). History,
reports and every user interface are folds over these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.gate import GateDecision
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
SlowUpdateAction = Literal[
    "inject_placeholder",
    "no_content",
    "force_accept",
    "accept_new_best",
    "accept",
    "reject",
    "indecisive",
]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A process began, or took up, a run with `done` steps recorded."""

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
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class DriftAllowed:
    """A resume went on under changed conditions, by the user's wish."""

    changes: tuple[str, ...]
    kind: Literal["drift_allowed"] = "drift_allowed"


@dataclass(frozen=True, slots=True)
class PreflightPassed:
    """One tiny call to a role's model succeeded."""

    role: Role
    model: str
    kind: Literal["preflight_passed"] = "preflight_passed"


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """The seed skill's scores on the selection split; `value` is under the gate metric."""

    value: float | None
    hard: float | None
    soft: float | None
    scored: int
    n: int
    kind: Literal["baseline_measured"] = "baseline_measured"


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step began. `edit_budget` is None when edits are not capped."""

    step: int
    epoch: int
    step_in_epoch: int
    edit_budget: int | None
    raw_rate: float
    learning_rate: int
    scheduler: str
    kind: Literal["step_started"] = "step_started"


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
class BatchScored:
    """The step's train tasks were scored under the current skill."""

    step: int
    hard: float | None
    soft: float | None
    failures: int
    scored: int
    n: int
    kind: Literal["batch_scored"] = "batch_scored"


@dataclass(frozen=True, slots=True)
class PatchesProposed:
    """Analysts answered: `patches` usable of `asked`, `edits` in all."""

    step: int
    asked: int
    failure_patches: int
    success_patches: int
    edits: int
    kind: Literal["patches_proposed"] = "patches_proposed"


@dataclass(frozen=True, slots=True)
class EditsMerged:
    """The patches became one."""

    step: int
    edits: int
    kind: Literal["edits_merged"] = "edits_merged"


@dataclass(frozen=True, slots=True)
class EditsChosen:
    """The edits that go into the candidate, and those that fell to the budget."""

    step: int
    chosen: tuple[Edit, ...]
    dropped: tuple[Edit, ...]
    kind: Literal["edits_chosen"] = "edits_chosen"


@dataclass(frozen=True, slots=True)
class CandidateMade:
    """The edits were applied; every one of them has an outcome."""

    step: int
    digest: str
    chars: int
    outcomes: tuple[EditOutcome, ...]
    kind: Literal["candidate_made"] = "candidate_made"


@dataclass(frozen=True, slots=True)
class StepSkipped:
    """The step ended without a candidate worth measuring."""

    step: int
    reason: str
    kind: Literal["step_skipped"] = "step_skipped"


@dataclass(frozen=True, slots=True)
class GateDecided:
    """The gate spoke. `hard` and `soft` are the candidate's means, None when settled early."""

    step: int
    decision: GateDecision
    hard: float | None
    soft: float | None
    kind: Literal["gate_decided"] = "gate_decided"


@dataclass(frozen=True, slots=True)
class EpochCompared:
    """The epoch's skill was compared with the one before it on the same train tasks.

    Attributes:
        categories: pairs per category, those the policy left out included.
        shown: pairs given to the optimizer.
        broken: tasks left out because an attempt at them was broken.
    """

    step: int
    epoch: int
    categories: tuple[tuple[str, int], ...]
    shown: int
    broken: int
    kind: Literal["epoch_compared"] = "epoch_compared"


@dataclass(frozen=True, slots=True)
class SlowUpdateDecided:
    """What an epoch's end did to the guidance region, and the score of the text it made.

    Attributes:
        decision: the gate's, when `slow_update_gate_with_selection` asks it.
        hard, soft: means of the new text, None when it was not measured in full.
    """

    step: int
    epoch: int
    action: SlowUpdateAction
    guidance: str
    decision: GateDecision | None
    hard: float | None
    soft: float | None
    kind: Literal["slow_update_decided"] = "slow_update_decided"


@dataclass(frozen=True, slots=True)
class MemoryWritten:
    """The optimizer wrote its notes for the next epoch (the paper's meta skill)."""

    step: int
    epoch: int
    notes: str
    kind: Literal["memory_written"] = "memory_written"


@dataclass(frozen=True, slots=True)
class CheckpointSaved:
    """`done` steps are recorded for good; the numbers are those of the saved state."""

    done: int
    current_score: float | None
    best_score: float | None
    current_step: int
    best_step: int
    chars: int
    kind: Literal["checkpoint_saved"] = "checkpoint_saved"


@dataclass(frozen=True, slots=True)
class TestMeasured:
    """A skill's scores on the test split. `label` is seed, best, final, no_skill or eval."""

    label: str
    digest: str
    hard: float | None
    soft: float | None
    scored: int
    n: int
    kind: Literal["test_measured"] = "test_measured"

    __test__ = False


@dataclass(frozen=True, slots=True)
class Degraded:
    """Something went on in a weaker way than asked for; counted in the summary."""

    where: str
    reason: str
    kind: Literal["degraded"] = "degraded"


@dataclass(frozen=True, slots=True)
class StoppedEarly:
    """There was nothing more to gain."""

    reason: str
    kind: Literal["stopped_early"] = "stopped_early"


@dataclass(frozen=True, slots=True)
class SubscriberDropped:
    """An observer failed and hears nothing more; the run goes on."""

    name: str
    reason: str
    kind: Literal["subscriber_dropped"] = "subscriber_dropped"


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run ended as planned."""

    done: int
    best_step: int
    best_score: float | None
    exit_code: int
    kind: Literal["run_finished"] = "run_finished"


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended before its plan; `resumable` when `skillopt resume` can take it up."""

    error: str
    message: str
    hint: str
    exit_code: int
    resumable: bool
    kind: Literal["run_failed"] = "run_failed"


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
    | CallRetried
    | BatchScored
    | PatchesProposed
    | EditsMerged
    | EditsChosen
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
