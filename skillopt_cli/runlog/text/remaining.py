"""The time that a run still takes, in words."""

from __future__ import annotations

from skillopt_cli.runlog.remaining import Schedule, measured_pace, seconds_left
from skillopt_cli.runlog.text.format import duration
from skillopt_cli.runlog.view import RunView


def run_left(view: RunView, now: float, schedule: Schedule | None = None) -> str:
    """How long a training still takes; `about` while no step has shown how long steps take.

    Empty after its end, and where nobody knows how long the tests after the last step take.

    Args:
        now: Unix seconds.
    """
    if view.ending is not None or (schedule is None and view.done >= view.total_steps):
        return ""
    seconds = seconds_left(view, now, schedule)
    known = seconds is None or measured_pace(view) or view.steering.paused is not None
    return left_words(view, seconds) if known else f"about {left_words(view, seconds)}"


def left_words(view: RunView, seconds: float | None) -> str:
    """Seconds left of a run or a part of it: `3m 20s left`, `left ?`, `paused`."""
    if view.steering.paused is not None:
        return "paused"
    return "left ?" if seconds is None else f"{duration(seconds)} left"
