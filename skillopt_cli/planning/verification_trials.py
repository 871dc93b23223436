"""Attempts that verify the edits of a step: how many are likely, and how many may be made. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt_cli.config.sections import OptimizerConfig
from skillopt_cli.core.statistics import binomial
from skillopt_cli.core.verification import FEW_OF, FEW_SHARE, VAGUE
from skillopt_cli.planning.proposed_edits import Proposed


def likely_trials(
    settings: OptimizerConfig, failed: float, proposed: Sequence[Proposed], passing: float
) -> float:
    """Attempts of one round on its failed tasks.

    Args:
        passing: chance that an edit passes.
    """
    most = settings.verify_tasks
    vague = sum(group.edits for group in proposed if group.named > VAGUE * most)
    alone = [group for group in proposed if 0 < group.named <= VAGUE * most and group.edits]
    if settings.verify == "off" or not (vague or alone):
        return 0.0
    if settings.verify == "joint":
        return failed
    trials = _search(failed, vague, passing)
    if alone:
        edits = sum(group.edits for group in alone)
        trials += sum(group.edits * min(most, group.named) for group in alone)
        trials += _few(edits, passing) * (_search(failed, edits, passing) + passing * failed)
    return trials


def _search(failed: float, edits: float, passing: float) -> float:
    """Attempts with all of some edits together, and halvings for the tasks that this solves."""
    return failed * (1 + passing * math.log2(max(1.0, edits))) if edits else 0.0


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
        others: edits of a round beyond those, by an optimizer that no limit holds for.
    """

    settings: OptimizerConfig
    tasks: int
    minibatch: int
    budget: int | None
    others: int = 0

    @property
    def _analysts(self) -> int:
        return math.ceil(self.tasks / self.minibatch)

    @property
    def _each(self) -> int:
        return self.budget or self.minibatch

    @property
    def _kept(self) -> int:
        """Edits kept in all rounds."""
        return self.budget or (self._analysts * self._each + self.others) * self.settings.rounds

    @property
    def texts(self) -> int:
        """Texts made of edits: in a round alone, together and before the next; in the check too."""
        if self.settings.verify == "off" and self.settings.rounds == 1:
            return 1
        checked = 1 + 3 * self._kept if self.settings.check_passing else 0
        proposed = self._analysts * self._each + self.others
        return self.settings.rounds * (2 * proposed + 2) + checked + 1

    def of_any(self, solvable: Sequence[int]) -> tuple[float, float]:
        """Most attempts at failed and at solved tasks, if so many of the step may be solved."""
        failed = max(self.on_failed(self.tasks - n) for n in solvable)
        return failed, max(self.on_solved(n) for n in solvable)

    def on_failed(self, failed: float) -> float:
        """Attempts at failed tasks, in all rounds.

        Each edit is tried alone, or searched for with the others that name many tasks. Those that
        fail alone are searched for all together, which credits a task to one edit, and tried again
        on those. So there are two searches, of which each halves its edits for every task.
        """
        rounds = self.settings.rounds
        made = failed * (rounds - 1)
        if self.settings.verify == "joint":
            made += failed * rounds
        elif self.settings.verify == "edits":
            analysts = min(self._analysts, failed / self.minibatch + 1)
            edits = analysts * self._each + (self.others if failed else 0)
            alone = edits * min(self.settings.verify_tasks, self.minibatch)
            made += rounds * (alone + failed * (3 + _halvings(edits)))
        return made

    def on_solved(self, solved: float) -> float:
        """Attempts at solved tasks, with and without the edits that are kept.

        A task that is broken is attempted without each edit and, for at most half of them, with it
        alone and with neither it nor another one.
        """
        return solved * (1 + 2 * self._kept) if self.settings.check_passing else 0.0


def _halvings(edits: float) -> int:
    """Most halvings of two searches for so many edits together, of which one may have none."""
    whole = math.ceil(edits)
    one, two = (math.ceil(math.log2(max(1, n))) for n in (whole, math.ceil(whole / 2)))
    return max(one, 2 * two)
