"""The outcome of each task, by the stage that attempted it: the content of heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from skillopt_cli.core.events import RolloutFinished, StageName, StageStarted
from skillopt_cli.core.repeats import mean_mark
from skillopt_cli.core.score import Mark

State = Literal["right", "failed", "broken"]

KEPT: tuple[StageName, ...] = ("rollout", "measure", "test")
"""Stages whose attempts are kept. Those of a slow update are in its comparison."""
CHUNK = 128
"""Outcomes in a chunk of a round: about the root of those of a large split."""


def state_of(hard: float | None) -> State:
    """The state of an attempt with this score, which is None when it is broken."""
    if hard is None:
        return "broken"
    return "right" if hard >= 1.0 else "failed"


class Outcome(NamedTuple):
    """The outcome of one attempt, or of several; both scores are None when it is broken.

    A tuple, since a run may have a million of them.
    """

    task: str
    hard: float | None
    soft: float | None

    @property
    def state(self) -> State:
        """Right is full marks; anything below is a failure, as reflection sees it."""
        return state_of(self.hard)


def mean_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of one or more attempts at a task: the mean scores of those that have one."""
    if len(outcomes) == 1:
        return outcomes[0]
    mean = mean_mark([Mark(outcome.hard, outcome.soft) for outcome in outcomes])
    return Outcome(outcomes[0].task, mean.hard, mean.soft)


@dataclass(frozen=True, slots=True)
class Round:
    """The attempts of one stage, in the order they ended.

    Attributes:
        step: 0 outside steps.
        label: which arm, of the tests.
        closing: whether it belongs to the end of the step's epoch.
        chunks: the outcomes, `CHUNK` in each but the last, so that one more copies few of them.
    """

    step: int
    stage: StageName
    label: str = ""
    closing: bool = False
    chunks: tuple[tuple[Outcome, ...], ...] = ()

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcome of each attempt."""
        return tuple(chain.from_iterable(self.chunks))

    @property
    def attempts(self) -> int:
        """How many attempts ended."""
        return sum(map(len, self.chunks))

    @property
    def by_task(self) -> dict[str, tuple[Outcome, ...]]:
        """The outcomes of the attempts at each task; more than one where attempts are repeated."""
        found: dict[str, tuple[Outcome, ...]] = {}
        for outcome in self.outcomes:
            found[outcome.task] = (*found.get(outcome.task, ()), outcome)
        return found

    @property
    def hard_scores(self) -> dict[str, float | None]:
        """The hard score of each task, the mean where attempts are repeated."""
        scores = {task: hard for task, hard, _ in self.outcomes}
        if len(scores) < self.attempts:
            return {task: mean_outcome(made).hard for task, made in self.by_task.items()}
        return scores

    def after(self, outcome: Outcome) -> Round:
        """The round once another attempt ended."""
        if self.chunks and len(self.chunks[-1]) < CHUNK:
            return replace(self, chunks=(*self.chunks[:-1], (*self.chunks[-1], outcome)))
        return replace(self, chunks=(*self.chunks, (outcome,)))

    @property
    def key(self) -> tuple[int, StageName, str]:
        """The stage it is of."""
        return self.step, self.stage, self.label


Rounds = tuple[Round, ...]


def opened(rounds: Rounds, event: StageStarted, *, closing: bool, training: bool) -> Rounds:
    """The rounds once a stage began. Outside steps a resumed process begins the same one again.

    A text that a training measures once more, as changed conditions ask for, has its round already.
    """
    again = training and event.stage == "measure" and event.label
    if event.stage not in KEPT or again:
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
            scores = (None, None) if event.ending == "broken" else (event.hard, event.soft)
            outcome = _outcome(event.task, *scores)
            return (*rounds[:i], rounds[i].after(outcome), *rounds[i + 1 :])
    return rounds


# Equal outcomes share one value: a task is attempted by many texts, and ends in few ways.
@lru_cache(maxsize=1 << 16, typed=True)
def _outcome(task: str, hard: float | None, soft: float | None) -> Outcome:
    return Outcome(task, hard, soft)
