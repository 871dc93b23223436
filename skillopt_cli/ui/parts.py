"""The parts of a `RunView`: what is known of a step, of an epoch, of a stage at work."""

from __future__ import annotations

from dataclasses import dataclass, field

from skillopt_cli.core.edits import EditOutcome
from skillopt_cli.core.events import (
    AppendixWritten,
    BatchScored,
    CandidateMade,
    EditsChosen,
    EpochCompared,
    GateDecided,
    LearningRateChosen,
    PatchesProposed,
    Role,
    SlowUpdateDecided,
    StageName,
    StepStarted,
)
from skillopt_cli.core.ledger import Ledger, Spent

StageKey = tuple[int, StageName, str]


@dataclass(frozen=True, slots=True)
class Standing:
    """The scores of the current and the best skill under the gate metric, and their steps.

    Attributes:
        chars: length of the current skill, None before a checkpoint told it.
    """

    current: float | None = None
    best: float | None = None
    current_step: int = 0
    best_step: int = 0
    chars: int | None = None


NO_STANDING = Standing()

_OVERDUE = 3.0
"""Seconds after which an end that did not come is not expected any moment."""


@dataclass(frozen=True, slots=True)
class StageView:
    """A stage at work.

    Attributes:
        began: its start, in Unix seconds.
        done: attempts ended, of `total`; stages that make no attempts count none.
        recalled: attempts among them that the journal had: they took no time.
        calls: model calls paid for under this stage's name.
        moved: when the last attempt ended.
    """

    step: int
    stage: StageName
    label: str
    total: int
    workers: int
    began: float
    done: int = 0
    recalled: int = 0
    broken: int = 0
    calls: int = 0
    moved: float = 0.0
    error: str = ""

    @property
    def key(self) -> StageKey:
        """Which stage this is; a resumed run starts the same one again."""
        return self.step, self.stage, self.label

    @property
    def attempts(self) -> bool:
        """Whether the stage's units are attempts, and so its progress is known."""
        return self.stage in ("rollout", "measure", "slow_update", "test")

    def left(self, now: float) -> float | None:
        """Seconds until the stage ends, None until a first wave of workers is back.

        None too once it should have ended a while ago: what is left then follows no pace.
        """
        made = self.done - self.recalled
        if made < max(1, min(self.workers, self.total // 2)):
            return None
        pace = (self.moved - self.began) / made
        left = pace * (self.total - self.done) - max(0.0, now - self.moved)
        return None if left < -_OVERDUE else max(0.0, left)


@dataclass(frozen=True, slots=True)
class EpochView:
    """What is known of an epoch's end. `step` is the epoch's last.

    Attributes:
        measured: attempts on the selection split at the texts with guidance.
        texts: how many texts were measured.
        recalled: those of them whose attempts the journal had.
    """

    number: int
    step: int
    compared: EpochCompared | None = None
    slow: SlowUpdateDecided | None = None
    notes: str = ""
    measured: int = 0
    texts: int = 0
    recalled: int = 0

    @property
    def changed(self) -> bool:
        """Whether guidance got into the skill."""
        return self.slow is not None and "accept" in self.slow.action

    @property
    def guided(self) -> int:
        """The texts it was to make: none before there is guidance, at least one from then on."""
        if self.slow is None or self.slow.action == "inject_placeholder":
            return 0
        return max(1, self.texts)

    @property
    def unchanged(self) -> int:
        """Those of them that were no new text."""
        return self.guided - self.texts + self.recalled

    @property
    def saved(self) -> int:
        """Attempts that early rejection made unnecessary."""
        decision = self.slow.decision if self.slow else None
        return max(0, decision.n - self.measured) if decision and decision.early else 0


@dataclass(frozen=True, slots=True)
class StepView:
    """What is known of a step: its facts, as far as they have happened.

    Attributes:
        began, ended: Unix seconds; `ended` is when the step was recorded for good.
        standing: scores once the step had decided, None before.
        skipped: why there was no candidate worth measuring.
        measured: attempts on the selection split, those in flight when the verdict was settled
            included.
        recalled: those of them that the journal had.
        ledger: its calls, those of the end of its epoch included, and those of processes that were
            interrupted at it.
        broken: attempts without a score, at the end of the step's epoch too.
        degraded: weaker paths taken, `where: reason`.
    """

    number: int
    began: float = 0.0
    ended: float | None = None
    plan: StepStarted | None = None
    batch: BatchScored | None = None
    proposed: PatchesProposed | None = None
    merged: int | None = None
    rate: LearningRateChosen | None = None
    chosen: EditsChosen | None = None
    appendix: AppendixWritten | None = None
    candidate: CandidateMade | None = None
    skipped: str | None = None
    measured: int = 0
    recalled: int = 0
    gate: GateDecided | None = None
    standing: Standing | None = None
    ledger: Ledger = field(default_factory=Ledger)
    broken: int = 0
    degraded: tuple[str, ...] = ()

    @property
    def decided(self) -> bool:
        """Whether the step's own work is over; what follows belongs to its epoch's end."""
        return self.gate is not None or self.skipped is not None

    @property
    def action(self) -> str | None:
        """How the step ended, in the words of `history.json`; None while it has not.

        `skip_no_patches`: no analyst proposed anything. `skip_no_op`: nothing changed the skill.
        """
        if self.gate is not None:
            verdict = self.gate.decision.verdict
            return {"new_best": "accept_new_best", "no_op": "skip_no_op"}.get(verdict, verdict)
        if self.skipped is not None:
            edits = self.chosen is not None and (self.chosen.chosen or self.chosen.dropped)
            if not (edits or self.appendix):
                return "skip_no_patches"
            return self.candidate.skip if self.candidate else "skip_no_op"
        return None

    @property
    def unchanged(self) -> bool:
        """Whether the candidate was no new text: the skill itself, or one measured before."""
        action = self.action or ""
        return action.startswith("skip_") or 0 < self.measured == self.recalled

    @property
    def saved(self) -> int:
        """Attempts that early rejection made unnecessary."""
        if self.gate is None or not self.gate.decision.early:
            return 0
        return max(0, self.gate.decision.n - self.measured)

    @property
    def accepted(self) -> bool:
        """Whether the step's candidate became the current skill."""
        return self.gate is not None and self.gate.decision.accepted

    def fate(self, outcome: EditOutcome) -> str:
        """What became of an edit, in a word for people.

        An applied edit is in the candidate. It was merely tried where that became no skill.
        """
        return "tried" if outcome.state == "applied" and not self.accepted else outcome.state

    def spent_by(self, role: Role) -> Spent:
        """What a role's calls in this step cost."""
        return self.ledger.by_role(role)

    @property
    def outcomes(self) -> tuple[EditOutcome, ...]:
        """What became of the step's edits; empty until they were applied."""
        return self.candidate.outcomes if self.candidate else ()
