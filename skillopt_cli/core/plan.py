"""The whole schedule as data: a pure function of the step number, without scheduler state."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from skillopt_cli.core.task import Task

T = TypeVar("T")

Scheduler = Literal["constant", "linear", "cosine"]
RateControl = Literal["fixed", "autonomous", "none"]
"""Who sets a step's learning rate: the schedule, the optimizer in view of the edits, or nobody."""


@dataclass(frozen=True, slots=True)
class LearningRate:
    """How many edits a step may apply (paper, section on learning rates; method, section 1).

    Attributes:
        high: the configured learning rate, at least 1.
        low: the floor of decaying schedules, in [1, high].
        capped: False for `lr_control_mode: none`, where every edit is kept.
        from_start: put step 1 at t = 0 instead of t = 1/total.
    """

    high: int
    low: int
    scheduler: Scheduler = "cosine"
    capped: bool = True
    from_start: bool = False

    def raw(self, step: int, total: int) -> float:
        """The unrounded rate of `step` (1-based) of `total`, in [low, high]."""
        if total <= 1 or self.scheduler == "constant":
            return float(self.high)
        t = (step - 1) / (total - 1) if self.from_start else step / total
        if self.scheduler == "linear":
            return self.high + (self.low - self.high) * t
        return self.low + (self.high - self.low) * (1 + math.cos(math.pi * t)) / 2

    def budget(self, step: int, total: int) -> int | None:
        """Maximum number of edits, rounded half up; None when edits are not capped."""
        if not self.capped:
            return None
        rounded = math.floor(self.raw(step, total) + 0.5 + 1e-9)
        return min(max(rounded, self.low), self.high)


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step: its place in the schedule, its seed and its edit budget."""

    number: int
    epoch: int
    step_in_epoch: int
    seed: int
    edit_budget: int | None
    raw_rate: float
    closes_epoch: bool

    @property
    def folder(self) -> str:
        """The step's folder in the run folder."""
        return f"steps/step_{self.number:04d}"


@dataclass(frozen=True, slots=True)
class TrainPlan:
    """Epochs of consecutive slices over a shuffled train split (method, section 1).

    Attributes:
        train_size: tasks in the train split, at least 1.
        batch_size: tasks per batch; `accumulation` batches make one step.
    """

    epochs: int
    train_size: int
    batch_size: int
    accumulation: int
    seed: int
    rate: LearningRate

    @property
    def per_step(self) -> int:
        """Tasks a full step rolls out."""
        return self.batch_size * self.accumulation

    @property
    def steps_per_epoch(self) -> int:
        """The last step of an epoch may be short; it is never refilled with repeats."""
        return math.ceil(self.train_size / self.per_step)

    @property
    def total(self) -> int:
        """Steps of the whole run."""
        return self.epochs * self.steps_per_epoch

    def step(self, number: int) -> StepPlan:
        """The plan of step `number`, 1-based."""
        epoch, inside = divmod(number - 1, self.steps_per_epoch)
        return StepPlan(
            number=number,
            epoch=epoch + 1,
            step_in_epoch=inside + 1,
            seed=self.seed + 1000 * (epoch + 1) + inside + 1,
            edit_budget=self.rate.budget(number, self.total),
            raw_rate=self.rate.raw(number, self.total),
            closes_epoch=inside + 1 == self.steps_per_epoch,
        )

    def after(self, done: int) -> Iterator[StepPlan]:
        """The steps still to do once `done` are recorded."""
        return (self.step(number) for number in range(done + 1, self.total + 1))

    def size(self, step: StepPlan) -> int:
        """How many tasks the step rolls out."""
        return min(self.per_step, self.train_size - self._start(step))

    def _start(self, step: StepPlan) -> int:
        return (step.step_in_epoch - 1) * self.per_step

    def batch(self, tasks: Sequence[Task], step: StepPlan) -> tuple[Task, ...]:
        """The step's tasks, in the order reflection reads them.

        The epoch's shuffle decides which tasks; the order by sha256(step seed, task id) is what
        minibatches are cut from, so completion order never matters.
        """
        order = list(range(len(tasks)))
        random.Random(self.seed + 1000 * step.epoch).shuffle(order)
        start = self._start(step)
        chosen = [tasks[i] for i in order[start : start + self.size(step)]]
        return tuple(sorted(chosen, key=lambda task: _rank(step.seed, task.id)))


def _rank(seed: int, task_id: str) -> str:
    return hashlib.sha256(f"{seed}\0{task_id}".encode(errors="surrogatepass")).hexdigest()


def cut(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Consecutive groups of `size`; the last one may be shorter. None for no items."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def merging_calls(patches: int, size: int) -> int:
    """Calls that merge patches in groups of `size`, level by level, until one is left.

    A group of one is left as it is, without a call.
    """
    calls = 0
    while patches > 1:
        groups = cut(range(patches), size)
        calls += sum(len(group) > 1 for group in groups)
        patches = len(groups)
    return calls
