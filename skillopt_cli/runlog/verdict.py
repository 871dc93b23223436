"""The verdict on a training: whether it improved the skill, and why not, from counted facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Literal

from skillopt_cli.core.edit_counts import Cause, EditCounts, why_no_edits
from skillopt_cli.core.edits import EditOutcome
from skillopt_cli.core.events import RunFinished
from skillopt_cli.core.gate import EPSILON
from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.run_verdict import RunVerdict, VerdictWord
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.text.format import count, one_line, score
from skillopt_cli.runlog.text.gate import score_name
from skillopt_cli.runlog.text.verdict import run_sentence, verdict_lines
from skillopt_cli.runlog.view import RunView

Word = VerdictWord | Literal["not better", "nothing won"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a training that reached its end.

    Attributes:
        word: on the best skill against the seed: that of `evidence` where there is one. Else, from
            the selection split alone: "improved", the best skill scored above the seed; "not
            better", the skill changed, but no text scored above the seed; "nothing won", no
            candidate was accepted and no guidance injected.
        steps: number of steps that accepted nothing, by reason, the most frequent first.
        edits: number of edits that did not get into a candidate, by state, likewise.
        reason: why nothing won, for people, the sentence of `why_no_change` in `summary.json`;
            empty where something did.
        evidence: what tasks that no step used prove; None where none were measured.
        majority: what one answer to all of these tasks scores, and what they prove about the best
            skill against it; None where answers are no labels.
    """

    word: Word
    steps: Mapping[str, int]
    edits: Mapping[str, int]
    reason: str = ""
    evidence: RunVerdict | None = None
    majority: LabelDiagnostics | None = None

    @property
    def seed(self) -> float | None:
        """The mean of the seed on the tasks of the evidence; None without evidence."""
        return self.evidence.seed if self.evidence else None

    @property
    def best(self) -> float | None:
        """The mean of the best skill on the same tasks; None without evidence."""
        return self.evidence.best if self.evidence else None

    @property
    def gain(self) -> float | None:
        """The gain of the best skill on these tasks; None without evidence."""
        return self.evidence.gain if self.evidence else None

    @property
    def low(self) -> float | None:
        """The lower end of the 95 % confidence interval of the gain; None without evidence."""
        return self.evidence.low if self.evidence else None

    @property
    def high(self) -> float | None:
        """The upper end of that interval; None without evidence."""
        return self.evidence.high if self.evidence else None

    @property
    def p_value(self) -> float | None:
        """How often chance alone explains such a gain, in [0, 1]; None without evidence."""
        return self.evidence.p_value if self.evidence else None

    @property
    def n(self) -> int:
        """Tasks that the evidence rests on; 0 without evidence."""
        return self.evidence.n if self.evidence else 0

    @property
    def sentence(self) -> str:
        """What the evidence proves, for people, as in `summary.json`; empty without evidence."""
        return run_sentence(self.evidence, self.majority) if self.evidence else ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All lines of the verdict that `train` prints, `sentence` first; none without evidence."""
        return verdict_lines(self.evidence, self.majority) if self.evidence else ()

    @property
    def majority_word(self) -> VerdictWord | None:
        """The word on the best skill against one answer to all tasks, as `word` is on the seed.

        None where answers are no labels, or the best skill was not measured.
        """
        against = self.majority.verdict if self.majority else None
        return against.word if against else None


def verdict_of(view: RunView) -> Verdict | None:
    """The verdict on a training that reached its end; None for any other run."""
    if not isinstance(view.ending, RunFinished) or not view.total_steps:
        return None
    changed = any(s.accepted for s in view.steps) or any(epoch.changed for epoch in view.epochs)
    seed, best = view.baseline.value if view.baseline else None, view.standing.best
    gained = seed is not None and best is not None and best > seed + EPSILON
    steps = _reasons(view)
    edits = Counter(outcome.state for outcome in left_out_edits(view))
    selected: Word = ("improved" if gained else "not better") if changed else "nothing won"
    return Verdict(
        word=view.verdict.word if view.verdict else selected,
        steps=dict(steps.most_common()),
        edits=dict(edits.most_common()),
        reason="" if changed else _why_nothing_won(view, steps),
        evidence=view.verdict,
        majority=view.majority,
    )


def left_out_edits(view: RunView) -> Iterator[EditOutcome]:
    """What became of the edits of all steps that did not get into a candidate."""
    return (outcome for step in view.steps for outcome in step.outcomes if not outcome.changed)


def why_no_change(view: RunView) -> dict[str, Any] | None:
    """The counted reasons of a training in which nothing won, as JSON; else None."""
    verdict = verdict_of(view)
    if verdict is None or not verdict.reason:
        return None
    return {"sentence": verdict.reason, "steps": verdict.steps, "edits": verdict.edits}


def no_gain_words(view: RunView) -> str:
    """Why a training has no skill that is better than the seed, in a line; empty where it has one.

    `No change: the best skill is the seed, byte for byte; no candidate was accepted in 3 steps: 2
    worse, 1 tied`.
    """
    verdict = verdict_of(view)
    if verdict is not None and verdict.reason:
        return f"No change: the best skill is {_seed_words(view)}; {verdict.reason}"
    why = why_not_better(view)
    return f"No better: {why}" if why else ""


def why_not_better(view: RunView) -> str:
    """Why the best skill is no better than the seed, in a sentence; empty where it is better.

    Empty too where nothing was trained, where the log does not hold the scores, and before the end
    while no other text is measured: then nothing is known.
    """
    seed, best = view.baseline.value if view.baseline else None, view.standing.best
    if not view.total_steps or seed is None or best is None or best > seed + EPSILON:
        return ""
    if not is_compared(view):
        return ""
    held = f"{score_name(view.run.metric if view.run else 'hard')} {score(seed)}"
    far = "" if isinstance(view.ending, RunFinished) else " so far"
    if view.standing.best_step:
        came = view.standing.best_origin
        return f"the best skill{far}, from {came}, is not better than the seed with {held}"
    others = other_texts(view)
    measured = "no other text was measured"
    if others == 1:
        measured = f"the only other text scored no higher than its {held}"
    elif others:
        measured = f"none of {count(others, 'other text')} scored above its {held}"
    return f"the best skill{far} is {_seed_words(view)}; {measured}"


def is_compared(view: RunView) -> bool:
    """Whether the best skill was selected among several texts, or the training reached its end."""
    found = view.standing.best_step > 0 or other_texts(view) > 0
    return found or isinstance(view.ending, RunFinished)


def other_texts(view: RunView) -> int:
    """How many texts beside the seed a training compared with the skill before them."""
    candidates = sum(step.gate is not None for step in view.steps)
    return candidates + sum(epoch.texts > 0 for epoch in view.epochs)


def _seed_words(view: RunView) -> str:
    pruned = view.pruned is not None and any(block.removed for block in view.pruned.blocks)
    return "the seed, pruned" if pruned else "the seed, byte for byte"


def _reasons(view: RunView) -> Counter[str]:
    """Steps that accepted nothing, by reason; those whose edits were lost alike, in one sum."""
    steps: Counter[str] = Counter()
    lost: dict[Cause, list[EditCounts]] = {}
    for step in view.steps:
        if step.counts is not None:
            lost.setdefault(step.counts.cause, []).append(step.counts)
        elif not step.accepted:
            steps[_reason(step)] += 1
    for counts in lost.values():
        steps[f"skipped ({why_no_edits(reduce(add, counts))})"] += len(counts)
    return steps


def _reason(step: StepView) -> str:
    """Why a step that accepted nothing did not."""
    if step.gate is not None:
        decision = step.gate.decision
        if decision.verdict == "indecisive":
            return "too few scored attempts to compare"
        if decision.verdict == "no_op":
            return "the candidate equals the current skill"
        if decision.early:
            return "not better (settled early)"
        return "tied" if _ties(step) else "worse"
    if step.skipped is not None:
        return "no edit was proposed" if step.action == "skip_no_patches" else step.skipped
    return "not finished"


def _ties(step: StepView) -> bool:
    decision = step.gate.decision if step.gate else None
    if decision is None or decision.candidate is None or decision.incumbent is None:
        return False
    return abs(decision.candidate - decision.incumbent) <= EPSILON


def _why_nothing_won(view: RunView, steps: Counter[str]) -> str:
    stop = f"; stopped early: {one_line(view.stopped)}" if view.stopped else ""
    if not steps:
        return f"no step was taken{stop}"
    reasons = ", ".join(f"{n} {one_line(reason)}" for reason, n in steps.most_common())
    return f"no candidate was accepted in {count(steps.total(), 'step')}: {reasons}{stop}"
