"""The verdict on a training."""

from __future__ import annotations

from dataclasses import replace

import pytest
from facts import accepted_step, barren_run, opening, rejected_step, stamp, whole_run

from skillopt_cli.core import events as ev
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.verdict import Verdict, verdict_of, why_no_change


def verdict(*events: ev.RunEvent) -> Verdict | None:
    return verdict_of(fold(stamp(events)))


def test_there_is_none_before_the_end_and_for_an_evaluation() -> None:
    *going_on, _ = whole_run()
    assert verdict(*going_on) is None
    for cause, code in (("Interrupted", 130), ("BudgetExhausted", 5), ("AuthFailed", 4)):
        assert verdict(*going_on, ev.RunFailed(cause, "m", "h", code, True)) is None
    started, *rest = whole_run()
    assert isinstance(started, ev.RunStarted)
    assert verdict(replace(started, total_steps=0), *rest) is None


def test_a_best_skill_above_the_seed_is_an_improvement() -> None:
    found = verdict(*whole_run())
    assert found is not None
    assert (found.word, found.sentence) == ("improved", "")
    assert found.seed is not None
    assert found.best is not None
    assert found.best > found.seed
    assert why_no_change(fold(stamp(whole_run()))) is None


def test_nothing_won_where_no_candidate_was_accepted() -> None:
    view = fold(stamp(barren_run()))
    found = verdict_of(view)
    assert found is not None
    assert found.word == "nothing won"
    assert sum(found.steps.values()) == len(view.steps)
    assert why_no_change(view) == {
        "sentence": found.sentence,
        "steps": found.steps,
        "edits": found.edits,
    }


@pytest.mark.parametrize("scores", [(0.3, 0.3), (0.65, 0.65)], ids=["worse", "as good"])
def test_a_changed_skill_that_is_no_better_is_not_better(scores: tuple[float, float]) -> None:
    ends = ev.RunFinished(2, 0, scores[1], 0)
    saved = ev.CheckpointSaved(2, scores[0], scores[1], 1, 0, 100)
    found = verdict(*opening(), *accepted_step(1), *rejected_step(2)[:-1], saved, ends)
    assert found is not None
    assert (found.word, found.sentence) == ("not better", "")
