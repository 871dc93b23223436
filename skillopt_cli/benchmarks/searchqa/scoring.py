"""Scoring of SearchQA: the SQuAD measures of the extracted answer."""

from __future__ import annotations

from skillopt_cli.benchmarks.kit.answers import extract_answer
from skillopt_cli.benchmarks.kit.squad import squad_score
from skillopt_cli.core.score import Score


def score_reply(reply: str, answers: tuple[str, ...]) -> Score:
    """Exact match (hard) and word F1 (soft) of the answer in a reply."""
    return squad_score(extract_answer(reply), answers)
