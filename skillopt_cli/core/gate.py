"""The gate: accept a candidate only if it scores strictly better on the selection split."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from skillopt_cli.core.score import HARD, Mark, Measured, Metric, Settled

EPSILON = 1e-9

Verdict = Literal["new_best", "accept", "reject", "indecisive", "no_op", "force_accept"]
ACCEPTING: tuple[Verdict, ...] = ("new_best", "accept", "force_accept")


@dataclass(frozen=True, slots=True)
class GateDecision:
    """A verdict with the numbers it rests on.

    Attributes:
        candidate: the candidate's mean, or the upper bound of it when settled early; None when
            nothing was scored.
        incumbent, best: means of the current and the best skill on their scored tasks.
        scored, n: candidate tasks scored, and asked for.
        early: whether the measurement was stopped because the verdict was settled.
        fixed, broke: tasks the candidate won that the incumbent lost, and the reverse.
        beats_best: whether an accepted candidate scored strictly better than the best text.
    """

    verdict: Verdict
    metric: str
    candidate: float | None
    incumbent: float | None
    best: float | None
    scored: int = 0
    n: int = 0
    early: bool = False
    fixed: tuple[str, ...] = ()
    broke: tuple[str, ...] = ()
    beats_best: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the candidate becomes the current skill."""
        return self.verdict in ACCEPTING

    @property
    def leads(self) -> bool:
        """Whether the candidate becomes the best skill: accepted by force, only if it is better."""
        return self.verdict == "new_best" or (self.verdict == "force_accept" and self.beats_best)


@dataclass(frozen=True, slots=True)
class GateRule:
    """How candidates are judged.

    Attributes:
        min_coverage: share of tasks that must have a score before a gate decides, in [0, 1].
        use_gate: False accepts every candidate, measured all the same; the best measured text
            stays the best.
    """

    metric: Metric = HARD
    min_coverage: float = 0.9
    use_gate: bool = True


def gate(
    measured: Measured | Settled, current: Measured, best: Measured, rule: GateRule
) -> GateDecision:
    """Decide on a candidate. Pure.

    Tasks are compared where both texts have a score. `reject` comes first: it is given whenever
    not even full marks on the unscored tasks would make the candidate strictly better, which is
    the rule early rejection uses, so both always agree (method, decision 3).
    """
    metric = rule.metric
    incumbent, best_mean = current.mean(metric), best.mean(metric)
    if isinstance(measured, Settled):
        return GateDecision(
            "reject",
            metric.name,
            measured.bound,
            incumbent,
            best_mean,
            scored=len(measured.marks),
            n=measured.n,
            early=True,
        )
    fixed, broke = _flips(measured.marks, current.marks, metric)
    verdict = _verdict(measured, current, best, rule)
    forced_best = verdict == "force_accept" and measured.coverage >= rule.min_coverage
    return GateDecision(
        verdict,
        metric.name,
        measured.mean(metric),
        incumbent,
        best_mean,
        scored=measured.scored,
        n=measured.n,
        fixed=fixed,
        broke=broke,
        beats_best=forced_best and gain(measured.marks, best.marks, metric) > EPSILON,
    )


def _verdict(measured: Measured, current: Measured, best: Measured, rule: GateRule) -> Verdict:
    metric = rule.metric
    if not rule.use_gate:
        return "force_accept"
    if measured.skill == current.skill:
        return "no_op"
    if potential_gain(measured.marks, current.marks, metric) <= EPSILON:
        return "reject"
    if measured.coverage < rule.min_coverage:
        return "indecisive"
    if gain(measured.marks, current.marks, metric) <= EPSILON:
        return "reject"
    better_than_best = gain(measured.marks, best.marks, metric) > EPSILON
    return "new_best" if better_than_best else "accept"


def gain(candidate: Mapping[str, Mark], incumbent: Mapping[str, Mark], metric: Metric) -> float:
    """Mean gain over the tasks both have a score for; 0 when there is none."""
    deltas = [
        d for t in incumbent if (d := _delta(candidate.get(t), incumbent[t], metric)) is not None
    ]
    return math.fsum(deltas) / len(deltas) if deltas else 0.0


def potential_gain(
    candidate: Mapping[str, Mark], incumbent: Mapping[str, Mark], metric: Metric
) -> float:
    """Upper bound of the gain if every task without a candidate score turned out as well as can be.

    An open task may end with full marks or be broken, and so left out; the first is never worse.
    """
    gains = [
        _open(metric(held.score)) if (d := _delta(candidate.get(t), held, metric)) is None else d
        for t, held in incumbent.items()
        if held.score is not None
    ]
    return math.fsum(gains) / len(gains) if gains else 0.0


def measuring_order(incumbent: Measured, metric: Metric) -> tuple[str, ...]:
    """The fixed order of a candidate's measurement: the incumbent's losses first, then the rest.

    Both parts keep file order. A loss is anything below full marks, or without a mark.
    """
    lost = [
        t for t, m in incumbent.marks.items() if (score := m.score) is None or metric(score) < 1.0
    ]
    losses = set(lost)
    won = [t for t in incumbent.marks if t not in losses]
    return (*lost, *won)


@dataclass(frozen=True, slots=True)
class Contest:
    """A candidate's measurement as far as it is known without a gap, in `measuring_order`.

    A fold over marks in that fixed order, so that what it says never depends on which attempt
    finishes first.

    Attributes:
        done: marks taken in so far.
        open_gain: summed gain if all later tasks ended with full marks; exact, so that it is the
            sum of `potential_gain`, in whatever order it came about.
        held: the incumbent's summed score over its `counted` scored tasks.
    """

    open_gain: Fraction
    held: float
    counted: int
    done: int = 0

    @property
    def settled(self) -> bool:
        """Whether no outcome of the open tasks can make the candidate strictly better."""
        return self.counted > 0 and float(self.open_gain) / self.counted <= EPSILON

    @property
    def bound(self) -> float:
        """The largest mean the candidate can still reach on the incumbent's scored tasks."""
        return (self.held + float(self.open_gain)) / self.counted

    def after(self, mark: Mark, incumbent: Mark, metric: Metric) -> Contest:
        """The contest with the next task's mark. A broken one stays open, as if not yet done."""
        change = Fraction(0)
        if mark.score is not None and incumbent.score is not None:
            held = metric(incumbent.score)
            change = Fraction(metric(mark.score) - held) - Fraction(_open(held))
        return replace(self, open_gain=self.open_gain + change, done=self.done + 1)


def contest(incumbent: Measured, metric: Metric) -> Contest:
    """The contest before its first mark. An incumbent with full marks has already won it."""
    values = [metric(score) for m in incumbent.marks.values() if (score := m.score) is not None]
    open_gain = sum((Fraction(_open(v)) for v in values), Fraction(0))
    return Contest(open_gain, math.fsum(values), len(values))


def _open(held: float) -> float:
    """The most a candidate can gain on a task the incumbent holds `held` on."""
    return 1.0 - held


def _delta(candidate: Mark | None, incumbent: Mark, metric: Metric) -> float | None:
    if candidate is None or candidate.score is None or incumbent.score is None:
        return None
    return metric(candidate.score) - metric(incumbent.score)


def _flips(
    candidate: Mapping[str, Mark], incumbent: Mapping[str, Mark], metric: Metric
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    deltas = {t: _delta(candidate.get(t), m, metric) for t, m in incumbent.items()}
    fixed = tuple(t for t, d in deltas.items() if d is not None and d > EPSILON)
    broke = tuple(t for t, d in deltas.items() if d is not None and d < -EPSILON)
    return fixed, broke
