"""The two lines on how a training stands."""

from __future__ import annotations

from facts import (
    VERDICT,
    accepted_step,
    attempts,
    barren_run,
    begun,
    opening,
    rejected_step,
    saved,
    stamp,
)

from skillopt_cli.core import events as ev
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.text.standing import score_parts, standing_words
from skillopt_cli.runlog.view import RunView


def after(*facts: ev.RunEvent) -> RunView:
    return fold(stamp(facts))


def scored(view: RunView) -> str:
    return "".join(score_parts(view))


def trained(wins: int, *, metric: str = "hard") -> RunView:
    """A step that solves so many of twenty tasks, of which the seed solves five."""
    best = wins / 20
    decision = GateDecision("new_best", "hard", best, 0.25, 0.25, 20, 20)
    return after(
        begun(metric=metric),
        ev.StageStarted(0, "measure", 20, 4),
        *attempts(0, "measure", 20, wins=5),
        ev.StageFinished(0, "measure"),
        ev.BaselineMeasured(0.25, 0.25, 0.25, 20, 20),
        ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine"),
        ev.StageStarted(1, "measure", 20, 4),
        *attempts(1, "measure", 20, wins=wins),
        ev.StageFinished(1, "measure"),
        ev.GateDecided(1, decision, best, best),
        saved(1, best, best, 1, 1, 160),
    )


def test_before_the_seed_is_measured_nothing_is_claimed() -> None:
    view = after(begun())
    assert scored(view) == "not measured yet"
    assert standing_words(view)[0] == "none yet: the seed has no score"


def test_the_seed_alone_is_not_better_than_itself() -> None:
    view = after(*opening())
    assert scored(view) == "seed 0.65 (0.43 to 0.82, n=20)"
    assert standing_words(view)[0] == "none yet: no other text than the seed is measured"
    tried = after(*opening(), *rejected_step(1, current=0.65, holder=0))
    assert standing_words(tried)[0] == "not better than the seed yet"
    assert standing_words(after(*barren_run()))[0] == "not better than the seed"


def test_a_gain_is_told_with_what_chance_may_do() -> None:
    view = after(*opening(), *accepted_step(1))
    assert scored(view) == "seed 0.65 -> best 0.80 (0.58 to 0.92, n=20), step 1"
    assert standing_words(view)[0] == (
        "perhaps better than the seed: 3 fixed, 0 broken; may be chance"
    )
    clear = standing_words(trained(10))
    assert clear == (
        "better than the seed on the selection tasks: 5 fixed, 0 broken",
        "bold green",
    )
    assert standing_words(trained(9))[0].startswith("perhaps better than the seed: 4 fixed")


def test_a_mixed_score_claims_no_flips() -> None:
    view = trained(10, metric="mixed")
    assert standing_words(view)[0] == "above the seed on the selection tasks"
    assert scored(view) == "seed 0.25 -> best 0.50 (mixed) (0.30 to 0.70, n=20), step 1"


def test_a_current_skill_below_the_best_is_shown() -> None:
    view = after(*opening(), *accepted_step(1), saved(2, 0.7, 0.8, 2, 1, 160))
    assert scored(view).endswith("step 1, now 0.70")


def test_tasks_that_no_step_used_have_the_last_word() -> None:
    view = after(*opening(), *accepted_step(1), ev.VerdictReached(VERDICT))
    assert standing_words(view) == (
        "better than the seed: 0.79 against 0.60 on 100 test tasks",
        "bold green",
    )


def test_an_evaluation_has_no_standing() -> None:
    assert standing_words(after(begun(total_steps=0))) == ("", "")
