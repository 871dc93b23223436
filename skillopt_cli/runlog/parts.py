"""The parts of a `RunView`: what is known of a step, of an epoch, of a stage at work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt_cli.core.edit_counts import LEFT_OUT, EditCounts, outcome_words
from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.events import (
    ATTEMPTING,
    AppendixWritten,
    BatchScored,
    CandidateMade,
    EditsChosen,
    EditsVerified,
    EpochCompared,
    GateDecided,
    LearningRateChosen,
    PassingChecked,
    PatchesProposed,
    Role,
    SlowUpdateDecided,
    StageName,
    StepStarted,
)
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.ledger import Ledger, Spent
from skillopt_cli.runlog.text.format import origin_words

StageKey = tuple[int, StageName, str]


@dataclass(frozen=True)
class Standing:
    """The scores of the current and the best skill under the gate metric, and their origins.

    Attributes:
        current_step, best_step, current_epoch, best_epoch: as in `CheckpointSaved`.
        chars: length of the current skill, None before a checkpoint.
    """

    current: float | None = None
    best: float | None = None
    current_step: int = 0
    best_step: int = 0
    chars: int | None = None
    current_epoch: int = 0
    best_epoch: int = 0

    @property
    def best_origin(self) -> str:
        """Where the best skill comes from, in words."""
        return origin_words(self.best_step, self.best_epoch)

    @property
    def current_origin(self) -> str:
        """Where the current skill comes from, in words."""
        return origin_words(self.current_step, self.current_epoch)


NO_STANDING = Standing()

IN_ROUNDS: tuple[StageName, ...] = ("verify", "check")
"""Stages that a step begins again, as often as the results ask for."""
_OVERDUE = 3.0
"""Seconds after which an end that did not come is not expected any moment."""


@dataclass(frozen=True)
class StageView:
    """A stage at work.

    Attributes:
        began: its start in Unix seconds, moved on by pauses, which count as no time.
        done: attempts ended, of `total`; stages that make no attempts count none.
        recalled: attempts among them that the journal had: they took no time.
        calls: model calls paid for under this stage's name.
        moved: when the last attempt ended.
        round: how often the stage began in its step, where it does so several times; else 0.
        before: attempts of its earlier rounds.
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
    round: int = 0
    before: int = 0

    @property
    def key(self) -> StageKey:
        """Which stage this is; a resumed run starts the same one again."""
        return self.step, self.stage, self.label

    @property
    def attempts(self) -> bool:
        """Whether the stage's units are attempts, and so its progress is known."""
        return self.stage in ATTEMPTING

    @property
    def in_flight(self) -> int:
        """The most attempts that are under way: as many as have a worker and have not ended."""
        return max(0, min(self.workers, self.total - self.done)) if self.attempts else 0

    @property
    def open_ended(self) -> bool:
        """Whether more rounds may follow, so that nobody knows how much work is left."""
        return self.stage in IN_ROUNDS

    @property
    def so_far(self) -> tuple[int, int]:
        """Attempts that ended, and those that were begun or are to begin, of all rounds so far."""
        return self.before + self.done, self.before + self.total

    def left(self, now: float) -> float | None:
        """Seconds until the stage ends, None until a first wave of workers is back.

        None too where more rounds may follow, and once it should have ended a while ago: what is
        left then follows no pace.
        """
        if self.open_ended:
            return None
        made = self.done - self.recalled
        if made < max(1, min(self.workers, self.total // 2)):
            return None
        pace = (self.moved - self.began) / made
        left = pace * (self.total - self.done) - max(0.0, now - self.moved)
        return None if left < -_OVERDUE else max(0.0, left)


def saved_attempts(decision: GateDecision | None, made: int) -> int:
    """Attempts that early rejection made unnecessary.

    Args:
        made: attempts of the measurement, with those that were under way when it was settled.
    """
    return max(0, decision.n - made) if decision is not None and decision.early else 0


@dataclass(frozen=True)
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
    def decision(self) -> GateDecision | None:
        """The gate's decision on the text with guidance; None where it made none."""
        return self.slow.decision if self.slow else None

    @property
    def saved(self) -> int:
        """Attempts that early rejection made unnecessary."""
        return saved_attempts(self.decision, self.measured)


@dataclass(frozen=True)
class StepView:
    """What is known of a step: its facts, as far as they have happened.

    Attributes:
        began, ended: Unix seconds: its start, moved on by pauses, which count as no time, and when
            it was recorded for good.
        earlier: seconds that processes before worked on it, which were interrupted at it.
        standing: scores once the step had decided, None before.
        skipped: why there was no candidate worth measuring.
        counts: what that follows from, where the log has it.
        proposed, merged: of all rounds of analysis together.
        choices: the edits chosen, with those that fell to the budget, one per round.
        verified: the trials of the chosen edits, one per round; empty where none are made.
        checked: the trial of the kept edits on solved tasks.
        tries: how often verification and check began, by stage.
        tried: attempts of the rounds of each that ended.
        measured: attempts on the selection split, those in flight when the verdict was settled
            included.
        recalled: those of them that the journal had.
        seconds: how long its stages took, those of the end of its epoch included.
        ledger: its calls, those of the end of its epoch included, and those of processes that were
            interrupted at it.
        broken: attempts without a score, at the end of the step's epoch too.
        degraded: weaker paths taken, `where: reason`.
    """

    number: int
    began: float = 0.0
    ended: float | None = None
    earlier: float = 0.0
    plan: StepStarted | None = None
    batch: BatchScored | None = None
    proposed: PatchesProposed | None = None
    merged: int | None = None
    rate: LearningRateChosen | None = None
    choices: tuple[EditsChosen, ...] = ()
    verified: tuple[EditsVerified, ...] = ()
    checked: PassingChecked | None = None
    tries: Mapping[StageName, int] = field(default_factory=dict)
    tried: Mapping[StageName, int] = field(default_factory=dict)
    appendix: AppendixWritten | None = None
    candidate: CandidateMade | None = None
    skipped: str | None = None
    counts: EditCounts | None = None
    measured: int = 0
    recalled: int = 0
    gate: GateDecided | None = None
    standing: Standing | None = None
    seconds: Mapping[StageName, float] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    broken: int = 0
    degraded: tuple[str, ...] = ()

    @property
    def chosen(self) -> EditsChosen | None:
        """The choice of the latest round of analysis."""
        return self.choices[-1] if self.choices else None

    @property
    def verifies_again(self) -> bool:
        """Whether the edits at hand are verified, so that what still fails is attempted again."""
        return bool(self.choices) and len(self.verified) == len(self.choices)

    @property
    def ranked(self) -> tuple[Edit, ...]:
        """The edits that all rounds chose, in their order."""
        return tuple(edit for choice in self.choices for edit in choice.chosen)

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
        if self.skipped is None and self.ended is None:
            return None
        if not self.patches:
            return "skip_no_patches"
        return self.candidate.skip if self.candidate else "skip_no_op"

    @property
    def edit_budget(self) -> int | None:
        """The most edits the step could apply, None without a limit."""
        if self.rate is not None:
            return self.rate.applied
        return self.plan.edit_budget if self.plan else None

    @property
    def patches(self) -> int:
        """The patches that analysts proposed."""
        made = self.proposed
        return made.failure_patches + made.success_patches if made else 0

    @property
    def unchanged(self) -> bool:
        """Whether the candidate was no new text: the skill itself, or one measured before."""
        action = self.action or ""
        return action.startswith("skip_") or 0 < self.measured == self.recalled

    @property
    def saved(self) -> int:
        """Attempts that early rejection made unnecessary."""
        return saved_attempts(self.decision, self.measured)

    @property
    def decision(self) -> GateDecision | None:
        """The gate's decision on the candidate; None where it made none."""
        return self.gate.decision if self.gate else None

    @property
    def accepted(self) -> bool:
        """Whether the step's candidate became the current skill."""
        return self.gate is not None and self.gate.decision.accepted

    @property
    def wall_time(self) -> float:
        """Seconds of work until it was recorded, those of interrupted processes included."""
        return self.earlier + (self.began if self.ended is None else self.ended) - self.began

    def fate(self, outcome: EditOutcome) -> str:
        """What became of an edit, in a word for people.

        An applied edit is in the candidate. It was merely tried where that became no skill.
        """
        return "tried" if outcome.changed and not self.accepted else outcome_words(outcome)

    def checked_with(self, outcome: EditOutcome) -> int:
        """The solved tasks that an edit was tried on, together with the others that were kept."""
        kept = outcome.state != "unverified" and outcome.state not in LEFT_OUT
        return self.checked.checked if self.checked and kept else 0

    def spent_by(self, role: Role) -> Spent:
        """What a role's calls in this step cost."""
        return self.ledger.by_role(role)

    @property
    def outcomes(self) -> tuple[EditOutcome, ...]:
        """What became of the step's edits; empty until they were applied."""
        return self.candidate.outcomes if self.candidate else ()
