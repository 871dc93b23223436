"""From facts to what trackers are told: one point per recorded step."""

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
from skillopt_cli.store.history import History, Record, rounded

_NAME = re.compile(r"[A-Za-z0-9._-]+\Z")
_StageKey = tuple[int, str, str]


class Follower:
    """A fold over a run's facts: constant work per fact.

    The points follow from `History`, so they hold what `history.json` holds; step 0 stands before
    it with the seed's scores.

    Attributes:
        identity: of the run, "" before its first fact.
        run: what the latest process said at its start.
        began: when it did, in Unix seconds.
    """

    def __init__(self) -> None:
        self.identity = ""
        self.began = 0.0
        self.run: RunStarted | None = None
        self._history = History()
        self._seeded = False
        self._begun: dict[int, float] = {}
        self._stages: dict[int, list[StageTime]] = {}
        self._open: dict[_StageKey, _OpenStage] = {}

    def add(self, fact: Stamped) -> list[Point]:
        """Take in one fact; returns the points of the steps it settles."""
        points: list[Point] = []
        match fact.event:
            case RunStarted(recorded=recorded) as run:
                self.run, self.began = run, fact.time
                self._begun.clear()
                self._stages.clear()
                self.identity = self.identity or _identity(run.run_id, fact.time)
                self._open.clear()
                if recorded is not None:
                    points += self._seed(recorded, fact.time)
            case CheckpointSaved() as saved:
                points += self._seed(saved, fact.time)
            case StepStarted(step=step):
                self._begun[step], self._stages[step] = fact.time, []
            case StageStarted() | StageFinished() | RolloutFinished() as event:
                self._hear_stage(event, fact.time)
        for record in self._history.add(fact):
            points.append(self._point(record, fact.time))
        return points

    @property
    def done(self) -> int:
        """Steps recorded."""
        return int(self._history.records[-1]["step"]) if self._history.records else 0

    @property
    def rest(self) -> tuple[StageTime, ...]:
        """Stages of the latest process that belong to no point so far, in the order they ended."""
        left = [stage for stages in self._stages.values() for stage in stages]
        return tuple(sorted(left, key=lambda stage: stage.ended))

    def _hear_stage(
        self, event: StageStarted | StageFinished | RolloutFinished, time: float
    ) -> None:
        key = (event.step, event.stage, event.label)
        match event:
            case StageStarted():
                self._open[key] = _OpenStage(time)
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
class _OpenStage:
    began: float
    attempts: int = 0
    broken: int = 0
    recalled: int = 0

    def ended(self, key: _StageKey, time: float) -> StageTime:
        _, stage, label = key
        return StageTime(stage, label, self.began, time, self.attempts, self.broken, self.recalled)


def _identity(run_id: str, began: float) -> str:
    """Of the run with this id whose log begins at this time."""
    return hashlib.sha256(f"{run_id}\n{began!r}".encode()).hexdigest()[:32]


def numbers(record: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of a JSON document by name; see `Point.values`.

    What counts under a text, such as a reason, is left out: a name is letters, digits, . _ and -.
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
