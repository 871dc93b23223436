"""Scoring of LiveMathematicianBench: all or nothing, by the option that an answer names."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_cli.benchmarks.kit.answers import extract_answer
from skillopt_cli.benchmarks.kit.choices import choice_score
from skillopt_cli.core.score import Score


def score_reply(reply: str, choices: Sequence[str], right: int) -> Score:
    """Whether a reply's answer names the right option.

    Unlike the published scorer it knows a label in brackets, in emphasis, or after a word such as
    "Option", and takes an option's first word for no label.
    """
    return choice_score(extract_answer(reply), choices, {right})
