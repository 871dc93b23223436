"""Metrics for trackers: folds a run's facts into one point per recorded step."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillopt_cli.core.events import (
    CheckpointSaved,
    RolloutFinished,
    RunStarted,
    StageFinished,
    StageStarted,
    Stamped,
    StepStarted,
)
from skillopt_cli.ports import Point, StageTime
from skillopt_cli.runlog.fold import apply
from skillopt_cli.runlog.history import Record, rounded, step_record
from skillopt_cli.runlog.view import RunView

_NAME = re.compile(r"[A-Za-z0-9._-]+\Z")
_StageKey = tuple[int, str, str]


class MetricsProjection:
    """Folds facts into points, with constant work per fact.

    Points hold the numbers of `history.json`; step 0 holds the seed's scores.

    Attributes:
        identity: digest of the run's id and of the time its log begins, "" before the first fact.
        began: Unix time at which the latest process started.
    """

    def __init__(self) -> None:
        self.identity = ""
        self.began = 0.0
        self._view = RunView()
        self._seeded = False
        self._begun: dict[int, float] = {}
        self._stages: dict[int, list[StageTime]] = {}
        self._open: dict[_StageKey, _StageTimer] = {}

    def add(self, fact: Stamped) -> list[Point]:
        """Fold in one fact; returns the points of the steps it completes."""
        points: list[Point] = []
        match fact.event:
            case RunStarted(recorded=recorded) as run:
                self.began = fact.time
                self._begun.clear()
                self._stages.clear()
                if not self.identity:
                    began = f"{run.run_id}\n{fact.time!r}"
                    self.identity = hashlib.sha256(began.encode()).hexdigest()[:32]
                self._open.clear()
                if recorded is not None:
                    points += self._seed(recorded, fact.time)
            case CheckpointSaved() as saved:
                points += self._seed(saved, fact.time)
            case StepStarted(step=step):
                self._begun[step], self._stages[step] = fact.time, []
            case StageStarted() | StageFinished() | RolloutFinished() as event:
                self._add_stage(event, fact.time)
        before, self._view = self._view, apply(self._view, fact)
        if isinstance(fact.event, RunStarted | CheckpointSaved):
            added = self._view.recorded_since(before)
            points += [self._point(step_record(step), fact.time) for step in added]
        return points

    @property
    def done(self) -> int:
        """Number of the last recorded step."""
        recorded = self._view.recorded
        return recorded[-1].number if recorded else 0

    @property
    def rest(self) -> tuple[StageTime, ...]:
        """Finished stages of the latest process that no point contains, in order of their end."""
        left = [stage for stages in self._stages.values() for stage in stages]
        return tuple(sorted(left, key=lambda stage: stage.ended))

    def _add_stage(
        self, event: StageStarted | StageFinished | RolloutFinished, time: float
    ) -> None:
        key = (event.step, event.stage, event.label)
        match event:
            case StageStarted():
                self._open[key] = _StageTimer(time)
            case StageFinished():
                if (stage := self._open.pop(key, None)) is not None:
                    self._stages.setdefault(event.step, []).append(stage.ended(key, time))
            case RolloutFinished():
                if (stage := self._open.get(key)) is not None:
                    stage.attempts += 1
                    stage.broken += event.ending == "broken"
                    stage.recalled += event.recalled

    def _seed(self, saved: CheckpointSaved, time: float) -> list[Point]:
        if self._seeded or saved.done:
            return []
        self._seeded = True
        means = saved.current
        record = {
            "selection_hard": rounded(means.hard) if means else None,
            "selection_soft": rounded(means.soft) if means else None,
            "selection_scored": means.scored if means else None,
            "selection_n": means.n if means else None,
            "current_score": rounded(saved.current_score),
            "best_score": rounded(saved.best_score),
            "best_step": saved.best_step,
            "skill_len": saved.chars,
        }
        stages = tuple(self._stages.pop(0, ()))
        began = min((stage.began for stage in stages), default=time)
        return [Point(0, began, time, numbers(record), stages=stages)]

    def _point(self, record: Record, time: float) -> Point:
        step = record["step"]
        return Point(
            step=step,
            began=self._begun.pop(step, time),
            ended=time,
            values=numbers({key: value for key, value in record.items() if key != "step"}),
            texts={key: value for key, value in record.items() if isinstance(value, str)},
            stages=tuple(self._stages.pop(step, ())),
        )


@dataclass(slots=True)
class _StageTimer:
    began: float
    attempts: int = 0
    broken: int = 0
    recalled: int = 0

    def ended(self, key: _StageKey, time: float) -> StageTime:
        _, stage, label = key
        return StageTime(stage, label, self.began, time, self.attempts, self.broken, self.recalled)


def numbers(record: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Flattens the numbers of a JSON document by name; see `Point.values`.

    Keys that are prose, such as a reason, are left out: a name is letters, digits, . _ and -.
    """
    found: dict[str, float] = {}
    for key, value in record.items():
        if not _NAME.match(key):
            continue
        name = f"{prefix}{key}"
        match value:
            case bool() | int() | float():
                found[name] = float(value)
            case list():
                found[name] = float(len(value))
            case dict():
                found |= numbers(value, f"{name}/")
    return found
