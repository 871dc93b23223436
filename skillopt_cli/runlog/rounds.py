"""The outcome of each task, by the stage that attempted it: the content of heat maps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

from skillopt_cli.core.events import RolloutFinished, StageFinished, StageName, StageStarted
from skillopt_cli.runlog.outcomes import NO_OUTCOMES, Outcome, Outcomes

KEPT: tuple[StageName, ...] = ("rollout", "measure", "test")
"""Stages whose attempts are kept. Those of a slow update are in its comparison."""
CHUNK = 128
"""Outcomes in a chunk of a round: about the root of those of a large split."""

Key = tuple[int, StageName, str]


@dataclass(frozen=True, slots=True)
class Round:
    """The attempts of one stage.

    Attributes:
        step: 0 outside steps.
        label: which arm, of the tests.
        closing: whether it belongs to the end of the step's epoch.
        ended: the outcomes of a stage that has ended.
        chunks: those of a stage at work, `CHUNK` in each but the last, so that one more copies few
            of them.
    """

    step: int
    stage: StageName
    label: str = ""
    closing: bool = False
    ended: Outcomes = NO_OUTCOMES
    chunks: tuple[tuple[Outcome, ...], ...] = ()

    @property
    def outcomes(self) -> Outcomes:
        """The outcome of each attempt."""
        if not self.chunks:
            return self.ended
        return Outcomes.of(chain(self.ended, chain.from_iterable(self.chunks)))

    @property
    def attempts(self) -> int:
        """How many attempts ended."""
        return len(self.ended) + sum(map(len, self.chunks))

    @property
    def key(self) -> Key:
        """The stage it is of."""
        return self.step, self.stage, self.label

    def after(self, outcome: Outcome) -> Round:
        """The round once another attempt ended."""
        if self.chunks and len(self.chunks[-1]) < CHUNK:
            return replace(self, chunks=(*self.chunks[:-1], (*self.chunks[-1], outcome)))
        return replace(self, chunks=(*self.chunks, (outcome,)))

    def closed(self) -> Round:
        """The round once its stage ended."""
        return replace(self, ended=self.outcomes, chunks=())


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
    scores = (None, None) if event.ending == "broken" else (event.hard, event.soft)
    at = _newest(rounds, (event.step, event.stage, event.label))
    if at is None:
        return rounds
    return (*rounds[:at], rounds[at].after(Outcome(event.task, *scores)), *rounds[at + 1 :])


def closed(rounds: Rounds, event: StageFinished) -> Rounds:
    """The rounds once a stage ended."""
    at = _newest(rounds, (event.step, event.stage, event.label))
    return rounds if at is None else (*rounds[:at], rounds[at].closed(), *rounds[at + 1 :])


def _newest(rounds: Rounds, key: Key) -> int | None:
    """The place of the newest round of a stage."""
    return next((i for i in range(len(rounds) - 1, -1, -1) if rounds[i].key == key), None)
