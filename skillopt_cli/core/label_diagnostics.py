"""Diagnostics of tasks whose answers are labels: majority baseline, labels never right. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt_cli.core.run_verdict import RunVerdict


@dataclass(frozen=True, slots=True)
class LabelDiagnostics:
    """The majority baseline of some tasks, and how the seed and the best skill use their labels.

    Attributes:
        answer: the majority baseline: the commonest answer of the train tasks, given to every task.
        score: mean score of that answer, in [0, 1], on `n` tasks.
        seed_answers: answers of the seed to these tasks that have a score.
        seed_unlabelled: those of them that are wrong and no label.
        verdict: what the same tasks prove about the best skill against this answer, which takes the
            place of the seed; None where the best skill was not measured.
        equally_common: answers that are as common as this one, which is counted too; of these it is
            the one that the best skill is least shown to beat.
        never_right: labels that the best skill answers none of its tasks rightly of, each with the
            number of these tasks; empty where it was not measured.
    """

    answer: str
    score: float
    n: int
    seed_answers: int = 0
    seed_unlabelled: int = 0
    verdict: RunVerdict | None = None
    equally_common: int = 1
    never_right: Mapping[str, int] = field(default_factory=dict)

    @property
    def unbeaten(self) -> bool:
        """Whether the best skill was measured, and is not shown to be better than this answer."""
        return self.verdict is not None and self.verdict.word != "improved"

    @property
    def difficulty(self) -> float:
        """How far the best skill is from being shown to beat this answer, in [0, 2].

        How often chance alone explains its gain; of a loss 2 minus that. 0 where it
        was not measured.
        """
        if self.verdict is None or self.verdict.gain is None:
            return 0.0
        p_value = self.verdict.p_value
        return p_value if self.verdict.gain > 0 else 2 - p_value

    @property
    def seed_names_none(self) -> bool:
        """Whether most answers of the seed are no label."""
        return 2 * self.seed_unlabelled > self.seed_answers
