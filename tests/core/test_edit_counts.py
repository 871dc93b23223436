"""Why a step changed nothing, from counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skillopt_cli.core.edit_counts import EditCounts, Evidence, why_no_edits

FULL = EditCounts(20, 8, 5, 5, 6, 4, 8, (("applied", 2),))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"scored": 0, "failures": 0, "asked": 0}, "no attempt could be scored"),
        (
            {"scored": 0, "failures": 0, "asked": 0, "broken": 28, "left_out": 2},
            "no attempt could be scored (28 broken)",
        ),
        (
            {"scored": 2, "failures": 0, "asked": 0, "broken": 28},
            "28 of 30 attempts could not be scored, all 2 other tasks are solved, and only failures"
            " are analysed",
        ),
        (
            {"scored": 1, "failures": 0, "answered": 1, "broken": 1, "left_out": 1},
            "1 of 2 attempts could not be scored, all 2 other tasks are solved (1 of them when last"
            " attempted), and 1 analysis proposed no edit",
        ),
        (
            {"scored": 1, "failures": 0, "asked": 0, "broken": 3},
            "3 of 4 attempts could not be scored, the other task is solved, and only failures are"
            " analysed",
        ),
        (
            {"scored": 1, "failures": 0, "asked": 0},
            "the only task is solved, and only failures are analysed",
        ),
        (
            {"scored": 0, "left_out": 1, "failures": 0, "asked": 0},
            "the only task is solved (when last attempted), and only failures are analysed",
        ),
        (
            {"scored": 0, "left_out": 9, "failures": 0, "asked": 0},
            "all 9 tasks are solved (when last attempted), and only failures are analysed",
        ),
        (
            {"failures": 0, "asked": 0, "answered": 0},
            "all 20 tasks are solved, and only failures are analysed",
        ),
        ({"answered": 0}, "0 of 5 analyses gave a usable answer"),
        (
            {"failures": 20, "evidence": Evidence(20, 2)},
            "the references of 18 of 20 tasks do not occur in their texts, so `rules` proposes"
            " nothing",
        ),
        ({"evidence": Evidence(20, 12)}, "5 analyses proposed no edit"),
        ({"failures": 0}, "all 20 tasks are solved, and 5 analyses proposed no edit"),
    ],
)
def test_nothing_was_proposed(change: dict[str, object], why: str) -> None:
    none = {"proposed": 0, "merged": 0, "states": ()}
    assert why_no_edits(replace(FULL, **(none | change))) == why  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"merged": 0, "states": ()}, "6 edits proposed, the merge kept 0"),
        (
            {"rate": 0, "states": (("over_budget", 4),)},
            "4 edits merged, 0 applied: the learning rate is 0",
        ),
        ({"states": (("over_budget", 4),)}, "4 edits merged, 0 chosen"),
        ({"states": (("vetoed", 3), ("over_budget", 1))}, "3 edits chosen, every one vetoed"),
        (
            {"states": (("unmatched", 2), ("duplicate", 1))},
            "3 edits chosen, 0 applied: 1 duplicate, 2 unmatched",
        ),
        ({"states": (("unverified", 3),)}, "3 edits tried on failed tasks, 0 kept"),
        (
            {"states": (("unverified", 3),), "trials": 1, "untried": 2},
            "1 edit tried on failed tasks, 2 with no failed task left to be tried on, 0 kept",
        ),
        (
            {"states": (("unverified", 10),), "trials": 11},
            "10 edits tried on failed tasks in 11 trials, 0 kept",
        ),
        (
            {"states": (("unverified", 3), ("unmatched", 1)), "trials": 1, "untried": 2},
            "4 edits chosen, 0 applied: 1 failed verification, 2 not tried, 1 unmatched",
        ),
        ({}, "2 edits applied, together they change nothing"),
    ],
)
def test_what_was_proposed_was_lost(change: dict[str, object], why: str) -> None:
    assert why_no_edits(replace(FULL, **change)) == why  # type: ignore[arg-type]


def test_steps_with_the_same_cause_add_up() -> None:
    one = replace(FULL, merged=0, states=())
    assert why_no_edits(one + replace(one, proposed=11)) == "17 edits proposed, the merge kept 0"
    lost = replace(FULL, proposed=0, merged=0, states=(), evidence=Evidence(8, 1))
    assert "15 of 18 tasks" in why_no_edits(lost + replace(lost, evidence=Evidence(10, 2)))
    tried = replace(FULL, states=(("unverified", 3),), trials=2, untried=1)
    assert why_no_edits(tried + tried).startswith("4 edits tried on failed tasks, 2 with no")
