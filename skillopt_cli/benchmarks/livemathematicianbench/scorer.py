"""The score of a labelled choice: all or nothing, by the option that an answer names."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_cli.benchmarks.answers import contrast, extract_answer
from skillopt_cli.benchmarks.choice import chosen, option
from skillopt_cli.core.score import Score


def choice_score(reply: str, choices: Sequence[str], right: int) -> Score:
    """Whether a reply's answer names the right option.

    Unlike the published scorer it knows a label in brackets, in emphasis, or after a word such as
    "Option", and takes an option's first word for no label.
    """
    answer = extract_answer(reply)
    expected = (option(choices, right),)
    picked = chosen(answer, choices)
    if picked == right:
        return Score(1.0, 1.0, expected=expected)
    feedback = contrast(expected, answer)
    if picked is None and answer:
        feedback = f"{feedback}, which names none of the options"
    return Score(0.0, 0.0, feedback, expected)
