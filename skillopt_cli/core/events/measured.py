"""Facts about scores outside the steps, and about what is recorded for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """The seed skill's scores on the selection split; `value` is under the gate metric."""

    value: float | None
    hard: float | None
    soft: float | None
    scored: int
    n: int
    kind: Literal["baseline_measured"] = "baseline_measured"


@dataclass(frozen=True, slots=True)
class Means:
    """Both mean scores of one text on the selection split, and how many tasks they rest on."""

    digest: str
    hard: float | None
    soft: float | None
    scored: int
    n: int


@dataclass(frozen=True, slots=True)
class CheckpointSaved:
    """`done` steps are recorded for good; the numbers are those of the saved state.

    Attributes:
        current_score, best_score: under the gate metric.
        current_step, best_step: the step each text comes from, 0 for the seed.
        chars: length of the current skill.
    """

    done: int
    current_score: float | None
    best_score: float | None
    current_step: int
    best_step: int
    chars: int
    current: Means | None = None
    best: Means | None = None
    kind: Literal["checkpoint_saved"] = "checkpoint_saved"


@dataclass(frozen=True, slots=True)
class TestMeasured:
    """A skill's scores on the test split. `label` is seed, best, final, no_skill or eval."""

    label: str
    digest: str
    hard: float | None
    soft: float | None
    scored: int
    n: int
    kind: Literal["test_measured"] = "test_measured"

    __test__ = False
