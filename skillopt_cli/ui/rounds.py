"""What each task came to, by the stage that attempted it: what heat maps are drawn from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from skillopt_cli.core.events import RolloutFinished, StageName, StageStarted

State = Literal["right", "failed", "broken"]

KEPT: tuple[StageName, ...] = ("rollout", "measure", "test")
"""Stages whose attempts are kept. A slow update's are told by its comparison."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one attempt; both scores are None when it is broken."""

    task: str
    hard: float | None
    soft: float | None

    @property
    def state(self) -> State:
        """Right is full marks; anything below is a failure, as reflection sees it."""
        if self.hard is None:
            return "broken"
        return "right" if self.hard >= 1.0 else "failed"


@dataclass(frozen=True, slots=True)
class Round:
    """The attempts of one stage, in the order they ended.

    Attributes:
        step: 0 outside steps.
        label: which arm, of the tests.
        closing: whether it belongs to the end of the step's epoch.
    """

    step: int
    stage: StageName
    label: str = ""
    closing: bool = False
    outcomes: tuple[Outcome, ...] = ()

    @property
    def key(self) -> tuple[int, StageName, str]:
        """The stage it is of."""
        return self.step, self.stage, self.label


Rounds = tuple[Round, ...]


def opened(rounds: Rounds, event: StageStarted, *, closing: bool) -> Rounds:
    """The rounds once a stage began. Outside steps a resumed process begins the same one again.

    A text that is measured once more, as changed conditions ask for, has its round already.
    """
    if event.stage not in KEPT or (event.stage == "measure" and event.label):
        return rounds
    fresh = Round(event.step, event.stage, event.label, closing)
    if not fresh.step:
        rounds = tuple(kept for kept in rounds if kept.key != fresh.key)
    return (*rounds, fresh)


def noted(rounds: Rounds, event: RolloutFinished) -> Rounds:
    """The rounds once an attempt ended; it belongs to the newest round of its stage."""
    key = (event.step, event.stage, event.label)
    for i in range(len(rounds) - 1, -1, -1):
        if rounds[i].key == key:
            outcome = Outcome(event.task, event.hard, event.soft)
            if event.ending == "broken":
                outcome = Outcome(event.task, None, None)
            grown = replace(rounds[i], outcomes=(*rounds[i].outcomes, outcome))
            return (*rounds[:i], grown, *rounds[i + 1 :])
    return rounds
