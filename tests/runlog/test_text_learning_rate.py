"""A step's learning rate in words."""

from __future__ import annotations

import pytest

from skillopt_cli.core.events import LearningRateChosen, StepStarted
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.text.step import rate_note, rate_words

PLAN = StepStarted(1, 1, 1, 4, 4.2, 8, "linear")


@pytest.mark.parametrize(
    ("event", "words", "note"),
    [
        (
            LearningRateChosen(1, 3, 3, 7, clamped=False),
            "3 of 7 edits, chosen by the optimizer",
            "lr=3, by the optimizer",
        ),
        (
            LearningRateChosen(1, 7, 9, 7, clamped=True),
            "7 of 7 edits, chosen by the optimizer (asked for 9)",
            "lr=7, by the optimizer",
        ),
        (
            LearningRateChosen(1, 1, None, 1, clamped=False),
            "1 of 1 edit, by the schedule: the optimizer gave no usable answer",
            "lr=1, by the schedule",
        ),
    ],
)
def test_a_chosen_rate(event: LearningRateChosen, words: str, note: str) -> None:
    step = StepView(1, plan=PLAN, rate=event)
    assert (rate_words(event), rate_note(step)) == (words, note)
    assert step.edit_budget == event.applied


def test_a_scheduled_rate() -> None:
    step = StepView(1, plan=PLAN)
    assert (rate_note(step), step.edit_budget) == ("lr=8, linear -> 4.2", 4)
    assert (rate_note(None), StepView(1).edit_budget) == ("learning rate unknown", None)
