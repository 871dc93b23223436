"""Attempts that verify the edits of a step: how many are likely, and how many may be made. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skillopt_cli.config.sections import OptimizerConfig
from skillopt_cli.core.statistics import binomial
from skillopt_cli.core.verification import FEW_OF, FEW_SHARE, VAGUE


def likely_trials(settings: OptimizerConfig, failed: float, edits: float, passing: float) -> float:
    """Attempts of one round on its failed tasks, each of which one edit names.

    Args:
        passing: chance that an edit passes.
    """
    if settings.verify == "off" or not edits:
        return 0.0
    if settings.verify == "joint":
        return failed
    search = failed * (1 + passing * math.log2(max(1.0, edits)))
    if failed > VAGUE * settings.verify_tasks * edits:
        return search
    again = passing * failed
    return min(failed, edits * settings.verify_tasks) + _few(edits, passing) * (search + again)


def _few(edits: float, passing: float) -> float:
    """How likely so few edits pass alone that a search finds the tasks of the others."""
    tried = round(edits)
    chances = binomial(tried, passing)
    return sum(chances[: math.ceil(FEW_SHARE * tried)]) if tried >= FEW_OF else 0.0


@dataclass(frozen=True, slots=True)
class MostTrials:
    """The attempts that a step may make to verify its edits.

    An analyst proposes at most as many edits as the step may apply or, where these are not limited,
    as it reads tasks.

    Attributes:
        tasks: of the step.
        minibatch: tasks that an analyst reads.
        budget: most edits of the step; None for no limit.
    """

    settings: OptimizerConfig
    tasks: int
    minibatch: int
    budget: int | None

    @property
    def _analysts(self) -> int:
        return math.ceil(self.tasks / self.minibatch)

    @property
    def _each(self) -> int:
        return self.budget or self.minibatch

    @property
    def _kept(self) -> int:
        """Edits kept in all rounds."""
        return self.budget or self._analysts * self._each * self.settings.rounds

    @property
    def texts(self) -> int:
        """Texts made of edits: in a round alone, together and before the next; in the check too."""
        if self.settings.verify == "off" and self.settings.rounds == 1:
            return 1
        checked = 1 + 3 * self._kept if self.settings.check_passing else 0
        return self.settings.rounds * (2 * self._analysts * self._each + 2) + checked + 1

    def on_failed(self, failed: float) -> float:
        """Attempts at failed tasks, in all rounds.

        Each edit is tried alone. The others are searched for all together, which credits a task to
        one edit, and tried again on those. One edit may be searched for by itself.
        """
        rounds = self.settings.rounds
        made = failed * (rounds - 1)
        if self.settings.verify == "joint":
            made += failed * rounds
        elif self.settings.verify == "edits":
            analysts = min(self._analysts, failed / self.minibatch + 1)
            alone = analysts * self._each * min(self.settings.verify_tasks, self.minibatch)
            halvings = math.ceil(math.log2(max(1.0, analysts * self._each)))
            made += rounds * (alone + failed * (3 + halvings))
        return made

    def on_solved(self, solved: float) -> float:
        """Attempts at solved tasks, with and without the edits that are kept.

        A task that is broken is attempted without each edit and, for at most half of them, with it
        alone and with neither it nor another one.
        """
        return solved * (1 + 2 * self._kept) if self.settings.check_passing else 0.0
