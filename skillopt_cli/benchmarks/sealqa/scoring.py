"""Clear cases of SealQA: answers that need no judge."""

from __future__ import annotations

from skillopt_cli.benchmarks.kit.answers import contrast
from skillopt_cli.benchmarks.kit.typography import plain_line
from skillopt_cli.core.score import Score


def clear_score(answer: str, expected: tuple[str, ...]) -> Score | None:
    """The score of an empty answer, or of one that equals a reference but for its form."""
    if not answer.strip():
        return Score(0.0, 0.0, contrast(expected, ""), expected)
    if _plain(answer) in map(_plain, expected):
        return Score(1.0, 1.0, "", expected)
    return None


def _plain(text: str) -> str:
    """The text without case, its article, and marks around it; 1.5 is not 15, and -5 not 5."""
    bare = plain_line(text).casefold().strip("\"'*_` ")
    return bare.rstrip(".!?,; ").removeprefix("the ") or bare
