"""What label tasks score without a skill: by one answer for all of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt_cli.core.run_verdict import RunVerdict


@dataclass(frozen=True, slots=True)
class MajorityBaseline:
    """The score of the same answer to every task, and how far the seed answered with labels.

    Attributes:
        answer: the commonest answer of the train tasks.
        score: mean score of that answer, in [0, 1], on `n` tasks.
        seed_answers: answers of the seed to these tasks that have a score.
        seed_unlabelled: those of them that name no label.
        verdict: what the same tasks prove about the best skill against this answer, which takes the
            place of the seed; None where the best skill was not measured.
    """

    answer: str
    score: float
    n: int
    seed_answers: int = 0
    seed_unlabelled: int = 0
    verdict: RunVerdict | None = None

    @property
    def unbeaten(self) -> bool:
        """Whether the best skill was measured, and is not shown to be better than this answer."""
        return self.verdict is not None and self.verdict.word != "improved"

    @property
    def seed_names_none(self) -> bool:
        """Whether most answers of the seed name no label."""
        return 2 * self.seed_unlabelled > self.seed_answers
