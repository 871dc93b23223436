"""The gate against itself: how often it accepts a text that is the one in force. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from skillopt_cli.core.gate import GateRule, gate
from skillopt_cli.core.score import BROKEN, Mark, Measured
from skillopt_cli.core.skill import SkillDocument

COMPARISONS = 2000


@dataclass(frozen=True, slots=True)
class FalseAccepts:
    """The outcome of comparing a text with itself.

    Attributes:
        comparisons: simulated gates.
        accepted: those of them that accepted the text as better than itself.
        varied: tasks whose draws differ; where none does, the gate cannot err.
    """

    comparisons: int
    accepted: int
    varied: tuple[str, ...]

    @property
    def rate(self) -> float:
        """The false-accept rate, in [0, 1]."""
        return self.accepted / self.comparisons


def false_accepts(
    draws: Mapping[str, Sequence[Mark]], rule: GateRule, comparisons: int = COMPARISONS
) -> FalseAccepts:
    """How often the rule accepts a text against itself, given two or more draws of each task.

    Each comparison gives the candidate one draw of every task and the incumbent another one, both
    chosen at random with a fixed seed: tasks are independent, so all such combinations are equally
    likely. The gate takes both for different texts, as it does a candidate whose edit has no
    effect.
    """
    chance = Random(0)
    usable = {task: [m for m in marks if not m.broken] for task, marks in draws.items()}
    incumbent, candidate = SkillDocument("incumbent"), SkillDocument("candidate")
    accepted = 0
    for _ in range(comparisons):
        pairs = {
            task: chance.sample(marks, 2) if len(marks) > 1 else [BROKEN, BROKEN]
            for task, marks in usable.items()
        }
        first = Measured(incumbent, {task: pair[0] for task, pair in pairs.items()})
        second = Measured(candidate, {task: pair[1] for task, pair in pairs.items()})
        # Without a gate everything is accepted; what would be is asked of the rule all the same.
        accepted += gate(second, first, first, replace(rule, use_gate=True)).accepted
    varied = tuple(task for task, marks in usable.items() if len(set(marks)) > 1)
    return FalseAccepts(comparisons, accepted, varied)
