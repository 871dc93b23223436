"""The outcomes of attempts: one by one, and all those of a stage in a byte each."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple, TypeVar

from skillopt_cli.core.repeats import mean_mark
from skillopt_cli.core.score import Mark

State = Literal["right", "failed", "broken"]
Pair = tuple[float | None, float | None]
"""Hard and soft score, both None of a broken attempt."""

Values = TypeVar("Values", bound=tuple[object, ...])
_BYTE = 256
_by_task = itemgetter(0)


def state_of(hard: float | None) -> State:
    """The state of an attempt with this score, which is None when it is broken."""
    if hard is None:
        return "broken"
    return "right" if hard >= 1.0 else "failed"


class Outcome(NamedTuple):
    """The outcome of one attempt, or of several; both scores are None when it is broken."""

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
class Outcomes:
    """Outcomes in the order of their tasks' ids; attempts at one task in the order they ended.

    A run may have a million of them. The ids are one value where stages attempt the same tasks.

    Attributes:
        tasks: of each attempt.
        pairs: the different scores.
        codes: which of these each attempt has, by number: a byte where there are no more than 256.
        repeated: whether a task has several attempts.
    """

    tasks: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    codes: Sequence[int] = b""
    repeated: bool = False

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Outcomes:
        """These outcomes."""
        ordered = sorted(outcomes, key=_by_task)
        tasks = tuple(sys.intern(task) for task, _, _ in ordered)
        numbers: dict[Pair, int] = {}
        codes = [numbers.setdefault((hard, soft), len(numbers)) for _, hard, soft in ordered]
        return cls(
            _shared(tasks),
            _shared(tuple(numbers)),
            bytes(codes) if len(numbers) <= _BYTE else tuple(codes),
            len(set(tasks)) < len(tasks),
        )

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Outcome]:
        for task, code in zip(self.tasks, self.codes, strict=True):
            yield Outcome(task, *self.pairs[code])

    def at(self, task: str) -> list[Outcome]:
        """The attempts at a task."""
        first, end = bisect_left(self.tasks, task), bisect_right(self.tasks, task)
        return [Outcome(task, *self.pairs[code]) for code in self.codes[first:end]]

    def coded(self, values: Sequence[int]) -> bytes:
        """A byte for each attempt: the value of its scores.

        Args:
            values: in [0, 255], of each of the different scores.
        """
        if isinstance(self.codes, bytes):
            return self.codes.translate(bytes(values).ljust(_BYTE))
        return bytes(map(values.__getitem__, self.codes))

    @property
    def by_task(self) -> dict[str, tuple[Outcome, ...]]:
        """The attempts at each task; more than one where attempts are repeated."""
        return {task: tuple(made) for task, made in groupby(self, _by_task)}

    @property
    def averaged(self) -> Outcomes:
        """One outcome for each task, the mean where attempts are repeated."""
        return Outcomes.of(map(mean_outcome, self.by_task.values())) if self.repeated else self


NO_OUTCOMES = Outcomes()


# The ids that many stages share are one value in memory and in a snapshot, as are the few pairs.
@lru_cache(maxsize=32)
def _shared(values: Values) -> Values:
    return values
