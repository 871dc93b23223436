"""The time that a run still takes: by its plan at first, then by its own pace."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from statistics import median

from skillopt_cli.runlog.view import RunView

_RECENT = 5
"""Steps whose pace counts."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The seconds that the parts of a training likely take, of what was left when it was made.

    Attributes:
        baseline: the measurement of the seed.
        steps: the last steps of the plan, one number each.
        closing: what comes after them: pruning and the final test.
        wave: attempts made at a time; 0.0 where the baseline is not part of the plan.
    """

    baseline: float
    steps: tuple[float, ...]
    closing: float
    wave: float = 0.0

    def step(self, number: int, total: int) -> float | None:
        """Of a step, by its number in a plan of `total` steps; None for one not in it."""
        place = number - 1 - (total - len(self.steps))
        return self.steps[place] if 0 <= place < len(self.steps) else None


def seconds_left(view: RunView, now: float, schedule: Schedule | None = None) -> float | None:
    """Seconds until the run ends; None where nothing is known of them.

    Without a schedule, until its last step is recorded, and None before the first one is.

    Args:
        now: Unix seconds.
    """
    if view.ending is not None or not view.total_steps:
        return None
    if schedule is None:
        return view.left(now) if view.done < view.total_steps else None
    factor = _factor(view, schedule)
    steps = [schedule.step(n, view.total_steps) for n in range(view.done + 1, view.total_steps + 1)]
    if view.stopped:
        steps = []
    parts = [*(seconds for seconds in steps if seconds is not None), schedule.closing]
    if view.baseline is None and not view.done:
        parts.insert(0, schedule.baseline)
    first, *others = (factor * seconds for seconds in parts)
    return max(0.0, first - _into(view, now)) + fsum(others)


def measured_pace(view: RunView) -> bool:
    """Whether a step has shown how long steps take."""
    return bool(_spans(view))


def _spans(view: RunView) -> dict[int, float]:
    """How long the latest recorded steps took, by number."""
    spans = {s.number: s.ended - s.began for s in view.steps if s.ended is not None and s.began}
    return dict(list(spans.items())[-_RECENT:])


def _factor(view: RunView, schedule: Schedule) -> float:
    """How many times as long as planned the work takes.

    By the latest recorded steps of the plan, which of a run taken up are not all of its steps;
    before the first by the attempts made; 1 before there are any.
    """
    total = view.total_steps
    plans = {n: schedule.step(n, total) for n in _spans(view)}
    planned = fsum(seconds for seconds in plans.values() if seconds)
    if planned:
        took = fsum(took for n, took in _spans(view).items() if plans[n] is not None)
        return max(0.0, took) / planned
    return median(view.waves) / schedule.wave if view.waves and schedule.wave else 1.0


def _into(view: RunView, now: float) -> float:
    """How long the part at work has lasted: the baseline, a step, or what follows the last one."""
    newest = view.step
    if newest is None or (newest.number <= view.done and newest.ended is None):
        began = view.stages[0].began if view.stages else now
    else:
        began = newest.began if newest.ended is None else newest.ended
    return max(0.0, now - began)
