"""All that a resume needs, and how a step moves it on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt_cli.core.edit_counts import Evidence
from skillopt_cli.core.edits import Edit, Patch, Trial
from skillopt_cli.core.formatting import count
from skillopt_cli.core.gate import EPSILON, GateDecision, GateRule, Verdict, surpasses, winnable
from skillopt_cli.core.plan import StepPlan
from skillopt_cli.core.score import Measured, Settled, Trajectory
from skillopt_cli.core.skill import SkillDocument


@dataclass(frozen=True, slots=True)
class Reflection:
    """What the analysts of one step brought back; `asked` counts the minibatches they read."""

    patches: tuple[Patch, ...]
    asked: int
    evidence: Evidence | None = None


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
        current_epoch, best_epoch: the epoch whose end, after that step, made the text; 0 where the
            step's own candidate is the text.
        refuted: edits of the run that did not solve the tasks they were tried on.
        solved: ids of train tasks that the current skill solved when they were last attempted, in
            alphabetical order.
        lessons: of the running epoch.
        memory: the optimizer's own notes for the next epoch (the paper's meta skill).
        epoch_skill: the skill in force when the last epoch had closed; None in the first epoch.
        idle: steps since the last accepted candidate.
        gates, undecided: gate decisions so far, and how many of them were indecisive.
        pruned: whether the best text was pruned, which ends a training.
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
    current_epoch: int = 0
    best_epoch: int = 0
    refuted: tuple[Trial, ...] = ()
    solved: tuple[str, ...] = ()
    pruned: bool = False

    def ties_lead(self, rule: GateRule) -> bool:
        """Whether a candidate that equals the best text takes its place.

        Where ties are accepted, the later text holds more edits that solved tasks of training. The
        seed gives way to a better text only.
        """
        return rule.policy == "not_worse" and self.best_step > 0

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
        state = replace(state, idle=0)
        return state._with_current(measured, (step.number, 0), leads=decision.leads)

    def after_slow_update(
        self, step: StepPlan, measured: Measured, decision: GateDecision
    ) -> TrainState:
        """The state with accepted guidance in its current text. `step` closed the epoch."""
        if measured.skill == self.current.skill:
            return self
        origin = (step.number, step.epoch)
        return self._with_current(measured, origin, leads=decision.leads)

    def measured_again(
        self, seed: Measured, current: Measured, best: Measured, rule: GateRule
    ) -> TrainState:
        """The state with its texts' marks under other conditions, and the best of them as best."""
        state = replace(self, current=current, best=best)
        if surpasses(current, state.best, rule):
            origin = (self.current_step, self.current_epoch)
            state = state._with_current(current, origin, leads=True)
        if surpasses(seed, state.best, rule):
            state = replace(state, best=seed, best_step=0, best_epoch=0)
        return state

    def _with_current(
        self, measured: Measured, origin: tuple[int, int], *, leads: bool
    ) -> TrainState:
        """The state with another current text, from a step and, if so, the end of an epoch."""
        step, epoch = origin
        state = replace(self, current=measured, current_step=step, current_epoch=epoch)
        return replace(state, best=measured, best_step=step, best_epoch=epoch) if leads else state

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
    """What a step taught. The same for a rejected step whether or not it was settled early.

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
        vetoed=vetoed(chosen) if chosen else (),
    )


def vetoed(patch: Patch) -> tuple[Edit, ...]:
    """The edits that a person struck out."""
    return tuple(outcome.edit for outcome in patch.set_aside if outcome.state == "vetoed")


def optimizer_was_silent(lessons: Sequence[Lesson]) -> bool:
    """Whether analysts were asked in these steps and none gave a usable answer (decision 10)."""
    return any(lesson.asked for lesson in lessons) and not any(n.answered for n in lessons)


def stop_reason(
    state: TrainState,
    rule: GateRule,
    patience: int,
    unlearned: int | None = None,
    *,
    guided: bool = False,
) -> str | None:
    """Why there is nothing more to gain, or None (decision 10).

    Args:
        patience: steps without an accepted candidate; 0 means any number.
        unlearned: train tasks that were not solved when last attempted, None where that is not
            known or steps also learn from solved ones.
        guided: whether epochs end with guidance, which is judged by a rule of its own.
    """
    if _is_full(state.current, rule):
        return "the current skill solves every selection task that could be scored"
    if _is_full(state.best, rule):
        return "the best skill solves every selection task that could be scored"
    if not guided and not winnable(state.current, rule):
        return (
            "no candidate could pass the gate, not even one that solves every selection task"
            f" (gate_policy {rule.policy})"
        )
    if unlearned == 0:
        return "every train task was solved when it was last attempted, and only failures are read"
    if patience and state.idle >= patience:
        idle = count(state.idle, "step")
        return f"{idle} without an accepted candidate (patience {patience})"
    return None


def _is_full(measured: Measured, rule: GateRule) -> bool:
    mean = measured.mean(rule.metric)
    return mean is not None and mean >= 1.0 - EPSILON
