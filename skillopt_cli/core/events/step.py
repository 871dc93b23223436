"""Facts about a step, in the order they happen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.gate import GateDecision


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
class AppendixWritten:
    """Analysts gave notes for the skill's appendix; the candidate holds them.

    Attributes:
        proposed: notes the step's analysts gave.
        added: those that the appendix did not hold.
        total: notes it holds now.
        consolidated: notes before a consolidation that was taken over, 0 without one.
    """

    step: int
    proposed: int
    added: tuple[str, ...]
    total: int
    consolidated: int = 0
    kind: Literal["appendix_written"] = "appendix_written"


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
