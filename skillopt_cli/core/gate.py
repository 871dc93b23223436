"""The gate: accept a candidate by the marks on the selection split, under the chosen policy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from skillopt_cli.core.score import HARD, Mark, Measured, Metric, Settled
from skillopt_cli.core.statistics import binomial

EPSILON = 1e-9
PAIRED_LEVEL = 0.1
"""Accepted chance that a candidate without effect passes the `paired` policy."""

Verdict = Literal["new_best", "accept", "reject", "indecisive", "no_op", "force_accept"]
GatePolicy = Literal["strict", "not_worse", "pooled", "paired", "no_regression"]
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
        beats_best: whether a candidate accepted by force scored strictly better than the best text.
        tied: whether it was accepted without being strictly better than the incumbent.
        ties_best: whether it was accepted and takes the place of a best text with the same score.
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
    tied: bool = False
    ties_best: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the candidate becomes the current skill."""
        return self.verdict in ACCEPTING

    @property
    def leads(self) -> bool:
        """Whether the candidate becomes the best skill: as a better one, or for an equal one.

        One accepted by force must be better.
        """
        forced_best = self.verdict == "force_accept" and self.beats_best
        return self.verdict == "new_best" or self.ties_best or forced_best


@dataclass(frozen=True, slots=True)
class Tally:
    """A candidate against the incumbent, over the tasks both have a score for.

    Attributes:
        gain: mean difference of the scores, in [-1, 1].
        won, lost: tasks on which the candidate scores higher, and lower.
    """

    gain: float
    won: int
    lost: int


@dataclass(frozen=True, slots=True)
class GateRule:
    """How candidates are judged.

    Attributes:
        min_coverage: share of tasks that must have a score before a gate decides, in [0, 1].
        use_gate: False accepts every candidate, measured all the same; the best measured text
            stays the best.
        policy: `strict` and `pooled` ask for a higher mean, `pooled` against an incumbent that is
            measured again in each step; `not_worse` accepts equal means; `no_regression` also asks
            that no task is lost; `paired` asks for a one-sided sign test below `PAIRED_LEVEL`.
    """

    metric: Metric = HARD
    min_coverage: float = 0.9
    use_gate: bool = True
    policy: GatePolicy = "strict"

    def suffices(self, tally: Tally) -> bool:
        """Whether a candidate with this tally is good enough."""
        match self.policy:
            case "not_worse":
                return tally.gain >= -EPSILON
            case "no_regression":
                return tally.gain > EPSILON and not tally.lost
            case "paired":
                chance = math.fsum(binomial(tally.won + tally.lost, 0.5, tally.won))
                return tally.gain > EPSILON and chance <= PAIRED_LEVEL
            case "strict" | "pooled":
                return tally.gain > EPSILON


def gate(
    measured: Measured | Settled,
    current: Measured,
    best: Measured,
    rule: GateRule,
    *,
    ties_lead: bool = False,
) -> GateDecision:
    """Decide on a candidate. Pure.

    Tasks are compared where both texts have a score. `reject` comes first: it is given whenever
    not even full marks on the unscored tasks would make the candidate good enough, which is
    the rule early rejection uses, so both always agree (method, decision 3).

    Args:
        ties_lead: whether an accepted candidate that equals the best text takes its place.
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
    forced_best = verdict == "force_accept" and surpasses(measured, best, rule)
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
        beats_best=forced_best,
        tied=verdict in ("accept", "new_best")
        and gain(measured.marks, current.marks, metric) <= EPSILON,
        ties_best=ties_lead
        and verdict == "accept"
        and surpasses(measured, best, rule, ties_lead=True),
    )


def surpasses(
    measured: Measured, best: Measured, rule: GateRule, *, ties_lead: bool = False
) -> bool:
    """Whether a text measured in full takes the place of the best one.

    Its mean must be higher, and so must its mean on the tasks both have a score for: a text does
    not win because the tasks it fails broke. With `ties_lead`, neither may be lower.
    """
    mean, highest = measured.mean(rule.metric), best.mean(rule.metric)
    if mean is None or measured.coverage < rule.min_coverage:
        return False
    least = -EPSILON if ties_lead else EPSILON
    higher = highest is None or mean > highest + least
    return higher and gain(measured.marks, best.marks, rule.metric) > least


def _verdict(measured: Measured, current: Measured, best: Measured, rule: GateRule) -> Verdict:
    metric = rule.metric
    if not rule.use_gate:
        return "force_accept"
    if measured.skill == current.skill:
        return "no_op"
    if not rule.suffices(potential(measured.marks, current.marks, metric)):
        return "reject"
    if measured.coverage < rule.min_coverage:
        return "indecisive"
    if not rule.suffices(tally(measured.marks, current.marks, metric)):
        return "reject"
    return "new_best" if surpasses(measured, best, rule) else "accept"


def gain(candidate: Mapping[str, Mark], incumbent: Mapping[str, Mark], metric: Metric) -> float:
    """Mean gain over the tasks both have a score for; 0 when there is none."""
    return tally(candidate, incumbent, metric).gain


def tally(candidate: Mapping[str, Mark], incumbent: Mapping[str, Mark], metric: Metric) -> Tally:
    """The candidate against the incumbent, over the tasks both have a score for."""
    deltas = (_delta(candidate.get(t), held, metric) for t, held in incumbent.items())
    return _tallied([delta for delta in deltas if delta is not None])


def potential(
    candidate: Mapping[str, Mark], incumbent: Mapping[str, Mark], metric: Metric
) -> Tally:
    """The tally if every task without a candidate score turned out as well as can be.

    An open task may end with full marks or be broken, and so left out; the first is never worse.
    """
    return _tallied([
        _open(value) if (d := _delta(candidate.get(t), held, metric)) is None else d
        for t, held in incumbent.items()
        if (value := held.under(metric)) is not None
    ])


def winnable(incumbent: Measured, rule: GateRule) -> bool:
    """Whether a candidate with full marks on every task would be good enough.

    Under `pooled` it may be, as the incumbent is measured again before it is compared.
    """
    if not rule.use_gate or rule.policy == "pooled":
        return True
    return rule.suffices(potential({}, incumbent.marks, rule.metric))


def _tallied(deltas: Sequence[float]) -> Tally:
    mean = math.fsum(deltas) / len(deltas) if deltas else 0.0
    won, lost = sum(d > EPSILON for d in deltas), sum(d < -EPSILON for d in deltas)
    return Tally(mean, won, lost)


def measuring_order(incumbent: Measured, metric: Metric) -> tuple[str, ...]:
    """The fixed order of a candidate's measurement: the incumbent's losses first, then the rest.

    Both parts keep file order. A loss is anything below full marks, or without a mark.
    """
    lost = [t for t, m in incumbent.marks.items() if (v := m.under(metric)) is None or v < 1.0]
    losses = set(lost)
    won = [t for t in incumbent.marks if t not in losses]
    return (*lost, *won)


@dataclass(frozen=True, slots=True)
class Contest:
    """A candidate's measurement as far as it is known without a gap, in `measuring_order`.

    A fold over marks in that fixed order, so that the result never depends on which attempt
    finishes first.

    Attributes:
        rule: what makes a candidate good enough, and under which metric.
        done: marks taken in so far.
        open_gain: summed gain if all later tasks ended with full marks; exact, so that it is the
            sum of `potential`, in whatever order it came about.
        held: the incumbent's summed score over its `counted` scored tasks.
        won, lost: tasks on which the candidate scores higher, open ones with full marks included,
            and lower.
    """

    rule: GateRule
    open_gain: Fraction
    held: float
    counted: int
    won: int
    lost: int = 0
    done: int = 0

    @property
    def settled(self) -> bool:
        """Whether no outcome of the open tasks can make the candidate good enough."""
        if not self.counted:
            return False
        best = Tally(float(self.open_gain) / self.counted, self.won, self.lost)
        return not self.rule.suffices(best)

    @property
    def bound(self) -> float:
        """The largest mean the candidate can still reach on the incumbent's scored tasks."""
        return (self.held + float(self.open_gain)) / self.counted

    def after(self, mark: Mark, incumbent: Mark) -> Contest:
        """The contest with the next task's mark. A broken one stays open, as if not yet done."""
        following, metric = replace(self, done=self.done + 1), self.rule.metric
        value, held = mark.under(metric), incumbent.under(metric)
        if value is None or held is None:
            return following
        delta, most = value - held, _open(held)
        return replace(
            following,
            open_gain=self.open_gain + Fraction(delta) - Fraction(most),
            won=self.won + (delta > EPSILON) - (most > EPSILON),
            lost=self.lost + (delta < -EPSILON),
        )


def contest(incumbent: Measured, rule: GateRule) -> Contest:
    """The contest before its first mark. Nothing is strictly better than full marks."""
    values = [v for m in incumbent.marks.values() if (v := m.under(rule.metric)) is not None]
    open_gain = sum((Fraction(_open(v)) for v in values), Fraction(0))
    won = sum(_open(value) > EPSILON for value in values)
    return Contest(rule, open_gain, math.fsum(values), len(values), won)


def _open(held: float) -> float:
    """The most a candidate can gain on a task the incumbent holds `held` on."""
    return 1.0 - held


def _delta(candidate: Mark | None, incumbent: Mark, metric: Metric) -> float | None:
    value = None if candidate is None else candidate.under(metric)
    held = incumbent.under(metric)
    return None if value is None or held is None else value - held


def _flips(
    candidate: Mapping[str, Mark], incumbent: Mapping[str, Mark], metric: Metric
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    deltas = {t: _delta(candidate.get(t), m, metric) for t, m in incumbent.items()}
    fixed = tuple(t for t, d in deltas.items() if d is not None and d > EPSILON)
    broke = tuple(t for t, d in deltas.items() if d is not None and d < -EPSILON)
    return fixed, broke
