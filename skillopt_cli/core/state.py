"""All that a resume needs, and how a step moves it on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt_cli.core.edits import Edit, Patch
from skillopt_cli.core.gate import GateDecision, Verdict
from skillopt_cli.core.plan import StepPlan
from skillopt_cli.core.score import Measured, Metric, Settled, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.words import count


@dataclass(frozen=True, slots=True)
class Reflection:
    """What the analysts of one step brought back; `asked` counts the minibatches they read."""

    patches: tuple[Patch, ...]
    asked: int


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a step taught, for the later reflect calls of its epoch (rejected-edit memory).

    Attributes:
        patterns: failure patterns with the number of analysts that named them.
        rejected: edits the gate turned down; empty unless `verdict` is "reject".
        rejected_notes: appendix notes that were part of the text the gate turned down.
        vetoed: edits that a person struck out before the candidate was made.
        incumbent: the score the candidate had to beat, under the gate metric.
        asked, answered: analyst calls made, and usable answers among them.
    """

    step: int
    n_total: int
    n_failed: int
    patterns: tuple[tuple[str, int], ...] = ()
    verdict: Verdict | None = None
    rejected: tuple[Edit, ...] = ()
    incumbent: float | None = None
    asked: int = 0
    answered: int = 0
    rejected_notes: tuple[str, ...] = ()
    vetoed: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class TrainState:
    """The state of a run after `done` steps; the loop is a fold over it.

    Attributes:
        current, best: each a text together with the marks measured on that very text.
        current_step, best_step: the step the text comes from, 0 for the seed.
        lessons: of the running epoch.
        memory: the optimizer's own notes for the next epoch (the paper's meta skill).
        epoch_skill: the skill in force when the last epoch had closed; None in the first epoch.
        idle: steps since the last accepted candidate.
        gates, undecided: gate decisions so far, and how many of them were indecisive.
    """

    current: Measured
    best: Measured
    done: int = 0
    current_step: int = 0
    best_step: int = 0
    lessons: tuple[Lesson, ...] = ()
    memory: str = ""
    epoch_skill: SkillDocument | None = None
    idle: int = 0
    gates: int = 0
    undecided: int = 0

    def after_step(
        self,
        step: StepPlan,
        lesson: Lesson,
        measured: Measured | Settled | None = None,
        decision: GateDecision | None = None,
    ) -> TrainState:
        """The state once `step` is recorded: the only way out of a step."""
        state = replace(self, done=step.number, lessons=(*self.lessons, lesson))
        if decision is None:
            return replace(state, idle=self.idle + 1)
        undecided = self.undecided + (decision.verdict == "indecisive")
        state = replace(state, gates=self.gates + 1, undecided=undecided)
        if not decision.accepted or not isinstance(measured, Measured):
            return replace(state, idle=self.idle + 1)
        state = replace(state, current=measured, current_step=step.number, idle=0)
        if not decision.leads:
            return state
        return replace(state, best=measured, best_step=step.number)

    def after_slow_update(self, current: Measured, best: Measured, step: int) -> TrainState:
        """The state with guidance in its texts, each measured. `step` closed the epoch."""
        return replace(
            self,
            current=current,
            best=best,
            current_step=step if current.skill != self.current.skill else self.current_step,
            best_step=step if best.skill != self.best.skill else self.best_step,
        )

    def after_epoch(self) -> TrainState:
        """Forget the step lessons, which belong to their epoch, and remember its skill."""
        return replace(self, lessons=(), epoch_skill=self.current.skill)


def lesson_from(
    step: StepPlan,
    trajectories: Sequence[Trajectory],
    reflection: Reflection,
    chosen: Patch | None = None,
    decision: GateDecision | None = None,
) -> Lesson:
    """What a step taught. Says the same of a rejected step whether or not it was settled early.

    Args:
        chosen: what was decided on: the edits that are in the candidate.
    """
    patterns = Counter(p for patch in reflection.patches for p in dict.fromkeys(patch.patterns))
    rejected = decision is not None and decision.verdict == "reject"
    return Lesson(
        step=step.number,
        n_total=sum(t.score is not None for t in trajectories),
        n_failed=sum(t.failed for t in trajectories),
        patterns=tuple(patterns.items()),
        verdict=decision.verdict if decision else None,
        rejected=chosen.edits if rejected and chosen else (),
        incumbent=decision.incumbent if decision else None,
        asked=reflection.asked,
        answered=len(reflection.patches),
        rejected_notes=chosen.notes if rejected and chosen else (),
        vetoed=tuple(outcome.edit for outcome in chosen.vetoed) if chosen else (),
    )


def optimizer_was_silent(lessons: Sequence[Lesson]) -> bool:
    """Whether analysts were asked in these steps and none gave a usable answer (decision 10)."""
    return any(lesson.asked for lesson in lessons) and not any(n.answered for n in lessons)


def stop_reason(state: TrainState, metric: Metric, patience: int) -> str | None:
    """Why there is nothing more to gain, or None (decision 10). `patience` 0 means never."""
    if state.current.mean(metric) == 1.0:
        return "the current skill solves every selection task that could be scored"
    if patience and state.idle >= patience:
        idle = count(state.idle, "step")
        return f"{idle} without an accepted candidate (patience {patience})"
    return None
