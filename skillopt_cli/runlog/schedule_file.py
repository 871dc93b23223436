"""The schedule of a run as a file of its folder, from which the page computes the time left."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite
from pathlib import Path

from skillopt_cli.runlog.remaining import Schedule
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.atomic_files import replace_text
from skillopt_cli.store.layout import SCHEDULE

_MOST_BYTES = 1 << 24


def write_schedule(folder: Path, schedule: Schedule) -> None:
    """Replace the schedule of a run.

    Raises:
        DataError: the disk is full or the folder not writable.
    """
    replace_text(folder / SCHEDULE, json.dumps(asdict(schedule)))


def read_schedule(folder: Path) -> Schedule | None:
    """The schedule of a run; None where there is none that can be read."""
    try:
        found = json.loads(read_regular(folder / SCHEDULE, _MOST_BYTES))
        steps = tuple(map(_seconds, found["steps"]))
        baseline, closing, wave = (_seconds(found[key]) for key in ("baseline", "closing", "wave"))
    except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None
    return Schedule(baseline, steps, closing, wave)


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and isfinite(value) and value >= 0:
        return float(value)
    raise ValueError(f"{value!r} is no number of seconds")
