"""Facts about a step, in the order they happen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.edit_counts import EditCounts
from skillopt_cli.core.edits import REWRITE, SUGGEST, Edit, EditOutcome, Trial
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.plan import RateControl


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step began. `edit_budget`, the schedule's, is None when edits are not capped."""

    step: int
    epoch: int
    step_in_epoch: int
    edit_budget: int | None
    raw_rate: float
    learning_rate: int
    scheduler: str
    control: RateControl = "fixed"
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
    """Analysts answered: `patches` usable of `asked`, `edits` in all.

    Attributes:
        round: the step's round of analysis, from 1.
        unknown_tasks: task ids that edits named although their analyst was not shown them.
    """

    step: int
    asked: int
    failure_patches: int
    success_patches: int
    edits: int
    round: int = 1
    unknown_tasks: int = 0
    kind: Literal["patches_proposed"] = "patches_proposed"


@dataclass(frozen=True, slots=True)
class EditsMerged:
    """The patches of a round became one."""

    step: int
    edits: int
    round: int = 1
    kind: Literal["edits_merged"] = "edits_merged"


@dataclass(frozen=True, slots=True)
class LearningRateChosen:
    """The optimizer chose how many edits to apply.

    Attributes:
        applied: the learning rate of the step, in [0, available].
        asked: what the optimizer answered, None when that was unusable and the schedule decided.
        available: merged edits.
        clamped: whether more was asked for than is available.
    """

    step: int
    applied: int
    asked: int | None
    available: int
    clamped: bool
    reasoning: str = ""
    confidence: float | None = None
    risk_notes: tuple[str, ...] = ()
    kind: Literal["learning_rate_chosen"] = "learning_rate_chosen"

    @property
    def record(self) -> dict[str, object]:
        """The choice as `lr_decision.json` and `history.json` have it."""
        return {
            "learning_rate": self.applied,
            "raw_learning_rate": self.asked,
            "available_update_items": self.available,
            "clamped": self.clamped,
            "fallback": self.asked is None,
            "reasoning": self.reasoning,
            "confidence": self.confidence,
            "risk_notes": list(self.risk_notes),
        }


@dataclass(frozen=True, slots=True)
class EditsChosen:
    """The edits a round chose for the candidate, and those that the selection left out."""

    step: int
    chosen: tuple[Edit, ...]
    dropped: tuple[Edit, ...]
    round: int = 1
    kind: Literal["edits_chosen"] = "edits_chosen"


@dataclass(frozen=True, slots=True)
class EditsVerified:
    """The chosen edits of a round were tried on the failed tasks they are written for.

    Attributes:
        trials: one per edit that was tried, in the order of their ranks.
        kept: how many of the round's edits go into the candidate.
        untried: edits that were set aside without a trial, as no failed task was left.
    """

    step: int
    round: int
    trials: tuple[Trial, ...]
    kept: int
    untried: int = 0
    kind: Literal["edits_verified"] = "edits_verified"


@dataclass(frozen=True, slots=True)
class PassingChecked:
    """The kept edits were tried on the tasks of the step that were solved without them.

    Attributes:
        checked: tasks with a score.
        broke: those that fail with the edits.
        noise: those of them that no single edit explains.
        removed: edits that were left out because they break one.
    """

    step: int
    checked: int
    broke: tuple[str, ...]
    noise: tuple[str, ...]
    removed: tuple[Edit, ...]
    kind: Literal["passing_checked"] = "passing_checked"


@dataclass(frozen=True, slots=True)
class AppendixWritten:
    """Analysts gave notes for the skill's appendix; the candidate, unless refused, holds them.

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
    """The edits were applied, or the text rewritten; every edit has an outcome.

    Attributes:
        chars: characters of the candidate, in all its texts.
        changes: what a rewrite claims to have changed.
        refused: why the proposal was refused as a whole, empty when it was not.
    """

    step: int
    digest: str
    chars: int
    outcomes: tuple[EditOutcome, ...]
    changes: tuple[str, ...] = ()
    refused: str = ""
    kind: Literal["candidate_made"] = "candidate_made"

    @property
    def skip(self) -> str:
        """How the step ends when this candidate is not worth measuring, as in `history.json`."""
        if not self.refused:
            return "skip_no_op"
        rewritten = any(o.edit.op in (SUGGEST, REWRITE) for o in self.outcomes)
        return "skip_no_rewrite" if rewritten else "skip_refused"


@dataclass(frozen=True, slots=True)
class StepSkipped:
    """The step ended without a candidate worth measuring.

    Attributes:
        counts: what the reason follows from; None in logs of versions that did not record it, and
            where a proposal was refused as a whole.
    """

    step: int
    reason: str
    counts: EditCounts | None = None
    kind: Literal["step_skipped"] = "step_skipped"


@dataclass(frozen=True, slots=True)
class GateDecided:
    """The gate spoke. `hard` and `soft` are the candidate's means, None when settled early."""

    step: int
    decision: GateDecision
    hard: float | None
    soft: float | None
    kind: Literal["gate_decided"] = "gate_decided"
