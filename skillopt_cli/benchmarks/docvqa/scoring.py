"""Scoring of DocVQA by ANLS: the similarity of an answer to the nearest reference, by edits.

Source: Biten et al., "Scene Text Visual Question Answering" (2019), with the threshold of 0.5 that
DocVQA results are reported in.
"""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from skillopt_cli.benchmarks.kit.answers import contrast
from skillopt_cli.core.score import Score

THRESHOLD = 0.5
RIGHT = 0.999
"""Similarity from which on an answer counts as right."""


def similarity(answer: str, reference: str) -> float:
    """One minus the share of characters to change, in [0, 1]; 0 where that is half or more.

    Case and the amount of white space do not count. Two empty texts are the same.
    """
    texts = _plain(answer), _plain(reference)
    longest = max(map(len, texts))
    if not longest:
        return 1.0
    distance = Levenshtein.distance(*texts) / longest
    return 1 - distance if distance < THRESHOLD else 0.0


def anls(answer: str, references: Sequence[str]) -> float:
    """The similarity to the nearest reference; 0 where there is none."""
    return max((similarity(answer, reference) for reference in references), default=0.0)


def anls_score(answer: str, references: tuple[str, ...]) -> Score:
    """ANLS as the soft score; hard is whether it is practically 1. Every miss has a reason."""
    soft = anls(answer, references)
    if soft >= RIGHT:
        return Score(1.0, soft, "", references)
    feedback = contrast(references, answer)
    if soft:
        feedback += f"; near, but not the same (ANLS {soft:.2f})"
    return Score(0.0, soft, feedback, references)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
