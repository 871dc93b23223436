"""The shares of train tasks that are solved, epoch by epoch. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skillopt_cli.config.sections import OptimizerConfig


@dataclass(frozen=True, slots=True)
class Solved:
    """Shares of train tasks in an epoch.

    Attributes:
        before: solved when last attempted before it.
        left_out: not attempted in it, as they were solved before.
        attempted: solved, of those that are attempted.
        learned: whether edits of the epochs before may have raised it.
    """

    before: float
    left_out: float
    attempted: float
    learned: bool = False


@dataclass(frozen=True, slots=True)
class Gain:
    """What the edits of a step do.

    Attributes:
        passing: share of the failed tasks that those of one round of analysis solve.
        accepted: share of the candidates that are accepted.
        learns: whether the share of solved tasks grows by what the edits solve; where not, the
            first epoch's is that of all.
    """

    passing: float
    accepted: float
    learns: bool


def solved_by_epoch(
    settings: OptimizerConfig, epochs: int, first: float, gain: Gain
) -> Iterator[Solved]:
    """The shares of each epoch.

    Args:
        first: solved of the tasks that are attempted in the first epoch.
    """
    before, attempted = 0.0, first
    # Attempts with the edits so far count where the candidate is accepted.
    again = (1 - (1 - gain.passing) ** (settings.rounds - 1)) * gain.accepted
    for epoch in range(epochs):
        rerun = settings.rerun_solved * before
        learned = gain.learns and epoch > 0
        if learned:
            # What the last round of edits solves was not attempted with them before.
            unsolved = 1 - before
            found = rerun + unsolved * gain.passing * gain.accepted
            attempted = found / (rerun + unsolved) if rerun + unsolved else 1.0
        left_out = before - rerun
        yield Solved(before, left_out, attempted, learned)
        kept = attempted + (1 - attempted) * again
        before = left_out + (1 - left_out) * kept
