"""A run that ended before its plan, in words, and the command that continues it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from facts import accepted_step, barren_run, begun, opening, rejected_step, stamp, states

from skillopt_cli.core import events as ev
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.summary import status
from skillopt_cli.runlog.text.unfinished import resume_command, unfinished_words
from skillopt_cli.runlog.view import RunView

STOPPED = ev.RunFailed("Interrupted", "stopped by the user", "", 130, True)


def seen(*facts: ev.RunEvent) -> RunView:
    return fold(stamp(facts))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        pytest.param([begun()], "before the first of 3 steps. No score was measured.", id="soon"),
        pytest.param(
            opening(),
            "before the first of 3 steps. Best skill so far: the seed skill, val score 0.65"
            " (n=20); no other text is measured yet.",
            id="seed",
        ),
        pytest.param(
            [*opening(), ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine")],
            "before the end of step 1 of 3. Best skill so far: the seed skill, val score 0.65"
            " (n=20); no other text is measured yet.",
            id="in step 1",
        ),
        pytest.param(
            [*opening(), *rejected_step(1, current=0.65, holder=0)],
            "after step 1 of 3. Best skill so far: the seed skill, val score 0.65 (n=20).",
            id="no better",
        ),
        pytest.param(
            [*opening(), *accepted_step(1)],
            "after step 1 of 3. Best skill so far: step 1, val score 0.80 (n=20); the seed has"
            " 0.65.",
            id="better",
        ),
    ],
)
@pytest.mark.parametrize("killed", [False, True])
def test_how_far_a_training_came_and_its_best_skill_so_far(
    facts: list[ev.RunEvent], words: str, killed: bool
) -> None:
    view = replace(seen(*facts), deserted=True) if killed else seen(*facts, STOPPED)
    assert unfinished_words(view) == f"{'Interrupted' if killed else 'Stopped'} {words}"
    assert resume_command(view, "outputs/my run") == "skillopt resume 'outputs/my run'"


def test_what_runs_or_is_finished_has_no_such_words() -> None:
    for facts in states().values():
        view = seen(*facts)
        broken_off = status(view) in ("interrupted", "failed", "budget")
        assert bool(unfinished_words(view)) == bool(resume_command(view, "a")) == broken_off
    assert unfinished_words(replace(seen(*barren_run()), deserted=True)) == ""


def test_a_cap_that_was_reached_is_to_be_raised() -> None:
    error = ev.RunFailed("BudgetExhausted", "m", "h", 5, True, "max_usd")
    view = seen(*opening(), error)
    assert unfinished_words(view).startswith("Budget exhausted before the first of 3 steps.")
    assert resume_command(view, "a") == "skillopt resume a --max-usd N"


def test_an_evaluation_without_a_plan_cannot_be_resumed() -> None:
    view = seen(begun(total_steps=0), replace(STOPPED, resumable=False))
    assert (unfinished_words(view), resume_command(view, "a")) == (
        "Stopped before its end.",
        "",
    )
    killed = replace(seen(begun(total_steps=0)), deserted=True)
    assert resume_command(killed, "a") == ""
