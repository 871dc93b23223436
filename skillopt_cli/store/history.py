"""A fold over the log: one record per step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, get_args

from skillopt_cli.core.edits import EditState
from skillopt_cli.core.events import (
    AppendixWritten,
    BaselineMeasured,
    BatchScored,
    CallFailed,
    CallMade,
    CandidateMade,
    CheckpointSaved,
    Degraded,
    EditsChosen,
    EditsMerged,
    GateDecided,
    LearningRateChosen,
    PatchesProposed,
    RolloutFinished,
    RunEvent,
    RunStarted,
    StageFinished,
    StageName,
    StageStarted,
    Stamped,
    StepSkipped,
    StepStarted,
)
from skillopt_cli.core.gate import Verdict
from skillopt_cli.core.ledger import Spent

Record = dict[str, Any]
E = TypeVar("E", bound=RunEvent)

VOLATILE = ("timing", "tokens", "wall_time_s")
"""Keys of a record that differ between two runs of the same thing; the others do not."""

_RESULTS = (
    BatchScored,
    PatchesProposed,
    EditsMerged,
    LearningRateChosen,
    EditsChosen,
    AppendixWritten,
    CandidateMade,
    StepSkipped,
    GateDecided,
)
_SECONDS: Mapping[str, StageName] = {
    "rollout_s": "rollout",
    "reflect_s": "reflect",
    "aggregate_s": "aggregate",
    "select_s": "select",
    "update_s": "update",
    "evaluate_s": "measure",
}
_ACTIONS: Mapping[Verdict, str] = {
    "new_best": "accept_new_best",
    "accept": "accept",
    "reject": "reject",
    "indecisive": "indecisive",
    "no_op": "skip_no_op",
    "force_accept": "force_accept",
}


def fold_history(facts: Iterable[Stamped]) -> list[Record]:
    """One record per recorded step, in order. Pure.

    A step counts as recorded once a checkpoint, or a later process, says that it is done; what was
    logged of steps beyond a later `RunStarted.done` is dropped, since they are worked on again.
    Scores and means have 6 decimals, times (seconds) 1; None stands for what is not known.
    """
    history = History()
    for fact in facts:
        history.add(fact)
    return history.records


class History:
    """The fold behind `fold_history`, one fact at a time: constant work per fact.

    Attributes:
        records: of the recorded steps, in order.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._open: dict[int, _Step] = {}
        self._paid: dict[int, dict[str, Spent]] = {}
        self._standings: dict[int, _Standing] = {}
        self._baseline: float | None = None

    def add(self, fact: Stamped) -> list[Record]:
        """Take in one fact; returns what it added to `records`, which it may first have cut."""
        match fact.event:
            case RunStarted(done=done, recorded=recorded):
                self._forget_after(done)
                if recorded is not None:
                    self._standings[done] = _Standing.of(recorded)
                added = self._record(done)
                # What was paid for a step that is worked on again was paid for it all the same.
                self._paid |= {number: step.spent for number, step in self._open.items()}
                self._open.clear()
                return added
            case StepStarted() as started:
                paid = self._paid.pop(started.step, {})
                self._open[started.step] = _Step(started, fact.time, fact.time, spent=paid)
            case BaselineMeasured(value=value):
                self._baseline = value
            case CheckpointSaved() as checkpoint:
                self._hear(fact)
                self._standings[checkpoint.done] = _Standing.of(checkpoint)
                return self._record(checkpoint.done)
            case _:
                self._hear(fact)
        return []

    def _hear(self, fact: Stamped) -> None:
        """Give a fact to the step it names or, if it names none, to the step begun last."""
        if self._open:
            step = self._open.get(getattr(fact.event, "step", max(self._open)))
            if step is not None:
                step.hear(fact)

    def _record(self, done: int) -> list[Record]:
        added = []
        for number in sorted(n for n in self._open if n <= done):
            step = self._open.pop(number)
            if number not in self._standings:
                # The process died between saving the checkpoint and saying so.
                start = _Standing(self._baseline, self._baseline, 0, 0, None)
                self._standings[number] = self._standings.get(number - 1, start).after(step)
            added.append(_record_of(step, self._standings[number]))
        self.records.extend(added)
        return added

    def _forget_after(self, done: int) -> None:
        self._standings = {n: s for n, s in self._standings.items() if n <= done}
        while self.records and self.records[-1]["step"] > done:
            self.records.pop()


@dataclass(slots=True)
class _Step:
    """What was heard of a step that is not recorded yet."""

    started: StepStarted
    begun: float
    latest: float
    results: dict[type, RunEvent] = field(default_factory=dict)
    running: dict[tuple[StageName, str], float] = field(default_factory=dict)
    seconds: dict[StageName, float] = field(default_factory=dict)
    spent: dict[str, Spent] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    broken: int = 0

    def hear(self, fact: Stamped) -> None:
        self.latest = fact.time
        match fact.event:
            case StageStarted(stage=stage, label=label):
                self.running[stage, label] = fact.time
            case StageFinished(stage=stage, label=label):
                took = fact.time - self.running.pop((stage, label), fact.time)
                self.seconds[stage] = self.seconds.get(stage, 0.0) + took
            case CallMade() | CallFailed() as call:
                booked = self.spent.get(call.stage, Spent())
                self.spent[call.stage] = booked + Spent.of(call)
            case RolloutFinished(ending="broken"):
                self.broken += 1
            case Degraded(where=where, reason=reason) as said if said.of_step:
                self.degraded.append(f"{where}: {reason}")
            case event if isinstance(event, _RESULTS):
                # An epoch's end may measure and decide once more under the number of its last step.
                self.results.setdefault(type(event), event)

    def result(self, kind: type[E]) -> E | None:
        """The step's own fact of this kind."""
        event = self.results.get(kind)
        return event if isinstance(event, kind) else None


@dataclass(frozen=True, slots=True)
class _Standing:
    """Where a run stands after a step; None where the log does not say."""

    current_score: float | None
    best_score: float | None
    current_step: int
    best_step: int
    chars: int | None

    @classmethod
    def of(cls, saved: CheckpointSaved) -> _Standing:
        return cls(
            saved.current_score, saved.best_score, saved.current_step, saved.best_step, saved.chars
        )

    def after(self, step: _Step) -> _Standing:
        """The standing as the step's gate moved it."""
        gated = step.result(GateDecided)
        if gated is None or not gated.decision.accepted:
            return self
        score, number = gated.decision.candidate, step.started.step
        made = step.result(CandidateMade)
        moved = replace(
            self, current_score=score, current_step=number, chars=made.chars if made else None
        )
        if not gated.decision.leads:
            return moved
        return replace(moved, best_score=score, best_step=number)


def _record_of(step: _Step, standing: _Standing) -> Record:
    started = step.started
    return {
        "step": started.step,
        "epoch": started.epoch,
        "step_in_epoch": started.step_in_epoch - 1,
        **_rollout(step),
        **_edits(step),
        **_candidate(step),
        **_appendix(step),
        **_gate(step),
        "current_score": rounded(standing.current_score),
        "best_score": rounded(standing.best_score),
        "best_step": standing.best_step,
        "current_origin": _origin(standing.current_step),
        "best_origin": _origin(standing.best_step),
        "skill_len": standing.chars,
        "broken_attempts": step.broken,
        "degraded": sorted(step.degraded),  # calls in flight together end in any order
        "timing": {key: round(step.seconds.get(s, 0.0), 1) for key, s in _SECONDS.items()},
        "tokens": _tokens(step),
        "wall_time_s": round(step.latest - step.begun, 1),
    }


def _tokens(step: _Step) -> Record:
    """What the calls of each stage cost; None for what no call of it reported."""
    return {
        stage: {
            "calls": spent.calls,
            "prompt_tokens": spent.prompt_tokens,
            "completion_tokens": spent.completion_tokens,
            "cached_tokens": spent.cached_tokens,
            "reasoning_tokens": spent.reasoning_tokens,
            # Without the dust of adding floats; a single token costs more than this drops.
            "usd": None if spent.usd is None else round(spent.usd, 12),
        }
        for stage, spent in sorted(step.spent.items())
    }


def _rollout(step: _Step) -> Record:
    batch = step.result(BatchScored)
    return {
        "rollout_hard": rounded(batch.hard) if batch else None,
        "rollout_soft": rounded(batch.soft) if batch else None,
        "rollout_n": batch.n if batch else 0,
        "rollout_scored": batch.scored if batch else 0,
    }


def _edits(step: _Step) -> Record:
    proposed = step.result(PatchesProposed)
    merged, ranked = step.result(EditsMerged), step.result(EditsChosen)
    chosen = step.result(LearningRateChosen)
    failures = proposed.failure_patches if proposed else 0
    successes = proposed.success_patches if proposed else 0
    return {
        "n_patches": failures + successes,
        "n_failure_patches": failures,
        "n_success_patches": successes,
        "n_edits_merged": merged.edits if merged else None,
        "n_edits_ranked": len(ranked.chosen) if ranked else None,
        "edit_budget": chosen.applied if chosen else step.started.edit_budget,
        "lr_control_mode": step.started.control,
        **({"lr_decision": chosen.record} if chosen else {}),
        "support_counts": [edit.support for edit in ranked.chosen] if ranked else [],
    }


def _candidate(step: _Step) -> Record:
    made = step.result(CandidateMade)
    if made is None:
        return {"candidate_hash": None, "candidate_skill_len": None, "edit_apply_summary": None}
    states = Counter(outcome.state for outcome in made.outcomes)
    changes = {"rewrite_change_summary": list(made.changes)} if made.changes else {}
    return {
        **changes,
        "candidate_hash": made.digest[:16],
        "candidate_skill_len": made.chars,
        "edit_apply_summary": {
            "total": len(made.outcomes),
            "skipped": len(made.outcomes) - states["applied"],
            **{state: states[state] for state in get_args(EditState)},
        },
    }


def _appendix(step: _Step) -> Record:
    """Only of a step whose analysts gave notes."""
    written = step.result(AppendixWritten)
    if written is None:
        return {}
    return {
        "n_execution_lapse_notes": written.proposed,
        "n_appendix_notes_added": len(written.added),
        "n_appendix_notes_total": written.total,
        "n_appendix_notes_consolidated": written.consolidated,
    }


def _gate(step: _Step) -> Record:
    gated, skipped = step.result(GateDecided), step.result(StepSkipped)
    decision = gated.decision if gated else None
    return {
        "selection_hard": rounded(gated.hard) if gated else None,
        "selection_soft": rounded(gated.soft) if gated else None,
        "selection_scored": decision.scored if decision else 0,
        "selection_n": decision.n if decision else 0,
        "gate_metric": decision.metric if decision else None,
        "candidate_gate_score": rounded(decision.candidate) if decision else None,
        "early_rejected": decision.early if decision else False,
        "action": _action(step),
        "skip_reason": skipped.reason if skipped else None,
        "fixed": list(decision.fixed) if decision else [],
        "broke": list(decision.broke) if decision else [],
    }


def _action(step: _Step) -> str:
    gated, proposed = step.result(GateDecided), step.result(PatchesProposed)
    if gated is not None:
        return _ACTIONS[gated.decision.verdict]
    any_patch = proposed is not None and proposed.failure_patches + proposed.success_patches > 0
    made = step.result(CandidateMade)
    if not any_patch:
        return "skip_no_patches"
    return made.skip if made else "skip_no_op"


def _origin(step: int) -> str:
    return f"step_{step:04d}" if step else "initial_skill"


def rounded(value: float | None) -> float | None:
    """A score as records have it, with 6 decimals."""
    return None if value is None else round(value, 6)
