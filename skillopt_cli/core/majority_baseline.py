"""What label tasks score without a skill: by one answer for all of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MajorityBaseline:
    """The score of the same answer to every task, and how far the seed answered with labels.

    Attributes:
        answer: the commonest answer of the train tasks.
        score: mean score of that answer, in [0, 1], on `n` tasks.
        seed_answers: answers of the seed to these tasks that have a score.
        seed_unlabelled: those of them that name no label.
    """

    answer: str
    score: float
    n: int
    seed_answers: int = 0
    seed_unlabelled: int = 0

    @property
    def seed_names_none(self) -> bool:
        """Whether most answers of the seed name no label."""
        return 2 * self.seed_unlabelled > self.seed_answers
