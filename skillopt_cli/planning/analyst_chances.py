"""Chances of how many analysts a round of a step asks, and means over them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from skillopt_cli.config.sections import GradientConfig
from skillopt_cli.core.plan import cut, merging_calls
from skillopt_cli.core.statistics import binomial

SUCCESSES_PROPOSE = 0.2
"""Share of the analyses of successes that propose an edit; mostly there is little to add."""

Chances = Mapping[tuple[int, int], float]
"""How likely so many are about failures, and so many about successes."""


def asked(
    settings: GradientConfig, tasks: int, accuracy: float, *, failures_only: bool = False
) -> Chances:
    """Analysts asked about tasks, each of which is solved with a chance of `accuracy`."""
    chances: dict[tuple[int, int], float] = {}
    for solved, chance in enumerate(binomial(tasks, accuracy)):
        pair = minibatches(settings, tasks - solved, 0 if failures_only else solved)
        chances[pair] = chances.get(pair, 0.0) + chance
    return chances


def minibatches(settings: GradientConfig, failures: int, successes: int) -> tuple[int, int]:
    """Analysts asked about failures, and about successes."""
    size = settings.minibatch_size
    if settings.failure_only:
        successes = 0
    return len(cut(range(failures), size)), len(cut(range(successes), size))


def proposing(analysts: Chances) -> Chances:
    """Analysts with an edit to propose: all of those of failures, some of those of successes."""
    chances: dict[tuple[int, int], float] = {}
    for (failures, successes), likely in analysts.items():
        for number, chance in enumerate(binomial(successes, SUCCESSES_PROPOSE)):
            pair = (failures, number)
            chances[pair] = chances.get(pair, 0.0) + likely * chance
    return chances


def merges(patches: tuple[int, int], size: int) -> int:
    """Calls that merge each side's patches, and both sides at last."""
    return sum(merging_calls(side, size) for side in patches) + (min(patches) > 0)


def mean(chances: Chances, count: Callable[[tuple[int, int]], float]) -> float:
    """The mean of a count."""
    return sum(chance * count(pair) for pair, chance in chances.items())
