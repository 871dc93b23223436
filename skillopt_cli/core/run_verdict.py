"""The verdict of a run: whether the best skill is better than the seed on tasks no step used. Pure.

The best skill was selected by its score on the selection split, so that score proves nothing. The
verdict rests on other tasks, which both skills attempted: the confirmation slice where one was set
aside, else the test split. The test is the one-sided paired sign-flip test at the 5 % level.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.paired_statistics import disagree, paired_differences
from skillopt_cli.core.score import Mark, Metric
from skillopt_cli.core.statistics import CHANGED, LEVEL, detectable_gain
from skillopt_cli.core.task import Task

VerdictWord = Literal["improved", "unproven", "worse", "underpowered"]
VerdictSplit = Literal["confirmation", "train", "selection", "test", "all"]
"""The split of a verdict: of a training the tasks set aside or the test split."""


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """What the tasks of a split prove about the best skill of a run.

    Attributes:
        word: `improved` or `worse` where chance alone explains the difference in less than one of
            twenty cases; `underpowered` where no gain of up to a fifth of the tasks would have
            shown on so few of them, or too few have scores; else `unproven`.
        metric: the score that is compared.
        seed, best: means on the tasks that both have a score for.
        n: those tasks; `asked` is the whole split.
        gain: of the best skill, with the 95 % confidence interval `low` to `high`.
        fixed, broke: tasks on which the best skill scored higher, and lower.
        p_value: how often chance alone explains a difference so large in this direction.
        detectable: the smallest gain that so many tasks show four times in five; None where there
            is none.
        identical: whether both skills read the same to the target; nothing is tested then.
    """

    word: VerdictWord
    split: VerdictSplit
    metric: str
    seed: float | None
    best: float | None
    n: int
    asked: int
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    fixed: int = 0
    broke: int = 0
    p_value: float = 1.0
    detectable: float | None = None
    identical: bool = False

    @property
    def interval_disagrees(self) -> bool:
        """Whether the interval, taken alone, would lead to another verdict than the exact test."""
        if self.low is None or self.high is None:
            return False
        return disagree((self.low, self.high), self.p_value)


@dataclass(frozen=True, slots=True)
class VerdictRule:
    """How a verdict is reached: by which score, and on what share of the tasks at least."""

    metric: Metric
    min_coverage: float = 0.9


def run_verdict(
    seed: Mapping[str, Mark],
    best: Mapping[str, Mark],
    split: VerdictSplit,
    rule: VerdictRule,
    *,
    identical: bool = False,
) -> RunVerdict:
    """The verdict that the marks of both skills on a split give.

    Args:
        identical: whether both skills read the same to the target.
    """
    first, second = _values(seed, rule.metric), _values(best, rule.metric)
    common = [task for task in first if task in second]
    seed_mean, best_mean = (_mean([arm[task][0] for task in common]) for arm in (first, second))
    name, asked = rule.metric.name, len(seed)
    found = paired_differences(first, second)
    n, gain = len(common), found.gain
    interval = None if identical else found.interval
    if gain is None or interval is None:
        word: VerdictWord = "unproven" if identical else "underpowered"
        return RunVerdict(word, split, name, seed_mean, best_mean, n, asked, identical=identical)
    fixed, broke = found.won, found.lost
    p_value = found.p_value("less" if gain < 0 else "greater")
    detectable = detectable_gain(n, max(CHANGED, (fixed + broke) / n))
    enough = n >= rule.min_coverage * asked
    return RunVerdict(
        _word(gain, p_value, powered=enough and detectable is not None, enough=enough),
        split,
        name,
        seed_mean,
        best_mean,
        n,
        asked,
        gain,
        *interval,
        fixed,
        broke,
        p_value,
        detectable,
    )


def _word(gain: float, p_value: float, *, powered: bool, enough: bool) -> VerdictWord:
    if enough and p_value <= LEVEL:
        return "improved" if gain > 0 else "worse"
    return "unproven" if powered else "underpowered"


def confirmation_slice(tasks: Sequence[Task], fraction: float) -> tuple[Task, ...]:
    """The share of the selection tasks that no step uses, kept for the verdict.

    Which ones is decided by a hash of their ids, so that neither their order nor a seed matters. At
    least one task stays for selection, and at least one is cut where `fraction` is not 0.
    """
    size = min(len(tasks) - 1, max(1, round(fraction * len(tasks)))) if fraction else 0
    ranked = sorted(tasks, key=lambda task: hashlib.sha256(task.id.encode()).digest())
    chosen = {task.id for task in ranked[:size]}
    return tuple(task for task in tasks if task.id in chosen)


def _values(marks: Mapping[str, Mark], metric: Metric) -> dict[str, tuple[float]]:
    return {t: (value,) for t, m in marks.items() if (value := m.under(metric)) is not None}


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
