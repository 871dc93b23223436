"""The verdict on a training."""

from __future__ import annotations

from dataclasses import replace

import pytest
from facts import (
    VERDICT,
    accepted_step,
    barren_run,
    begun,
    opening,
    proposing,
    rejected_step,
    stamp,
    whole_run,
)

from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit, EditOutcome, Trial
from skillopt_cli.core.statistics import detectable_gain, tasks_to_show
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.result_hints import result_hints
from skillopt_cli.runlog.text.ending import ending_lines
from skillopt_cli.runlog.text.verdict import verdict_sentence
from skillopt_cli.runlog.verdict import (
    Verdict,
    no_gain_words,
    verdict_of,
    why_no_change,
    why_not_better,
)


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
    assert (found.word, found.reason) == ("improved", "")
    # Scores of selection tasks prove nothing, and are no part of a verdict.
    assert (found.seed, found.best, found.gain, found.p_value, found.n) == (None,) * 4 + (0,)
    assert why_no_change(fold(stamp(whole_run()))) is None


def test_nothing_won_where_no_candidate_was_accepted() -> None:
    view = fold(stamp(barren_run()))
    found = verdict_of(view)
    assert found is not None
    assert found.word == "nothing won"
    assert sum(found.steps.values()) == len(view.steps)
    assert found.sentence == ""
    assert why_no_change(view) == {
        "sentence": found.reason,
        "steps": found.steps,
        "edits": found.edits,
    }


def test_what_the_evidence_proves_is_apart_from_why_nothing_won() -> None:
    alike = replace(VERDICT, identical=True)
    facts = barren_run()
    found = verdict(*facts[:-1], ev.VerdictReached(alike), facts[-1])
    assert found is not None
    assert found.sentence == verdict_sentence(alike)
    assert found.reason.startswith("no candidate was accepted in 3 steps: ")


def test_edits_that_were_not_applied_are_named_as_in_every_other_line() -> None:
    trial = Trial(Edit("append", "- a"), ("t1",), (), 1)
    outcomes = (
        EditOutcome(trial.edit, "unverified", "it solved 0 of 1 task it was written for", trial),
        EditOutcome(Edit("append", "- b"), "unverified", "it names no failed task"),
    )
    facts = [
        replace(fact, outcomes=outcomes) if isinstance(fact, ev.CandidateMade) else fact
        for fact in barren_run()
    ]
    report = as_markdown(run_report(Subject("a", fold(stamp(facts)))))
    assert "Edits that were not applied: 3 failed verification, 3 not tried\n" in report


BROKEN_OFF = (
    ev.RunFailed("Interrupted", "stopped by the user", "", 130, True),
    ev.RunFailed("AuthFailed", "the key was refused", "h", 4, True),
    ev.RunFailed("BudgetExhausted", "all is used", "h", 5, True, "max_usd"),
)


@pytest.mark.parametrize("ending", [None, *BROKEN_OFF], ids=lambda e: e.error if e else "running")
def test_before_another_text_is_measured_nothing_is_known_to_be_no_better(
    ending: ev.RunFailed | None,
) -> None:
    for facts in ([begun()], opening(), [*opening(), *proposing(1)]):
        view = fold(stamp([*facts, *([ending] if ending else [])]))
        assert why_not_better(view) == no_gain_words(view) == ""
    tried = [*opening(), *rejected_step(1, current=0.65, holder=0), *([ending] if ending else [])]
    assert no_gain_words(fold(stamp(tried))) == (
        "No better: the best skill so far is the seed, byte for byte; the only other text scored no"
        " higher than its val score 0.65"
    )


def test_a_training_without_a_change_is_explained_once() -> None:
    view = fold(stamp(barren_run()))
    words = no_gain_words(view)
    assert words.startswith(
        "No change: the best skill is the seed, byte for byte; no candidate was accepted in 3"
        " steps: 1 not better (settled early), "
    )
    assert view.ending is not None
    lines = ending_lines(view, view.ending)
    assert [line for line in lines if line.startswith("No ")] == [words]
    report = as_markdown(run_report(Subject("a", view)))
    assert report.count("byte for byte") == report.count("no candidate was accepted") == 1
    assert "Edits that were not applied: 3 " in report


def test_a_training_that_measured_no_other_text_is_told_so() -> None:
    stop = ev.StoppedEarly("the current skill solves every selection task")
    view = fold(stamp([*opening(), stop, ev.RunFinished(0, 0, 0.65, 0)]))
    assert why_not_better(view) == (
        "the best skill is the seed, byte for byte; no other text was measured"
    )


@pytest.mark.parametrize("scores", [(0.3, 0.3), (0.65, 0.65)], ids=["worse", "as good"])
def test_a_changed_skill_that_is_no_better_is_not_better(scores: tuple[float, float]) -> None:
    ends = ev.RunFinished(2, 0, scores[1], 0)
    saved = ev.CheckpointSaved(2, scores[0], scores[1], 1, 0, 100)
    found = verdict(*opening(), *accepted_step(1), *rejected_step(2)[:-1], saved, ends)
    assert found is not None
    assert (found.word, found.reason) == ("not better", "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gain": 0.1, "fixed": 15, "broke": 5}, "if the true gain is +0.10 as measured, about 1"),
        ({"asked": 4, "n": 4, "gain": 0.5, "fixed": 2, "broke": 0}, "fewer than 5 test tasks can"),
        ({"gain": -0.1}, "there is no gain on these test tasks to prove"),
        ({"n": 80, "p_value": 0.01}, "20 of 100 test tasks lack a score: resume the run"),
        ({"identical": True}, ""),
        ({"word": "improved"}, ""),
    ],
)
def test_a_verdict_that_proves_nothing_comes_with_what_would(
    changes: dict[str, object], said: str
) -> None:
    unproven = replace(VERDICT, **({"word": "unproven", "p_value": 0.2} | changes))  # type: ignore[arg-type]
    facts = barren_run()
    view = fold(stamp([*facts[:-1], ev.VerdictReached(unproven), facts[-1]]))
    (hint,) = result_hints(view) or ("",)
    assert hint.startswith(said)
    assert bool(hint) is bool(said)
    assert not said or f"hint: {hint}" in ending_lines(view, ev.RunFinished(3, 0, 0.65, 10))
    report = as_markdown(run_report(Subject("a", view)))
    assert not said or f"hint: {hint}" in report.replace("\\", "")


def test_the_number_of_tasks_shows_the_gain_exactly_where_they_are_few() -> None:
    assert (detectable_gain(tasks_to_show(0.4, 0.4), 0.4) or 1.0) <= 0.4
    assert tasks_to_show(0.05, 0.2) == 493


@pytest.mark.parametrize(
    ("task", "joint", "hinted"), [("t1", False, True), ("t2", False, False), ("t1", True, False)]
)
def test_edits_that_may_need_each_other_name_the_setting(
    task: str, *, joint: bool, hinted: bool
) -> None:
    edits = (Edit("append", "- a"), Edit("append", "- b"))
    trials = (Trial(edits[0], ("t1",), joint=joint), Trial(edits[1], (task,), joint=joint))
    outcomes = tuple(EditOutcome(t.edit, "unverified", "it solved 0 of 1", t) for t in trials)
    facts = barren_run()
    index = next(i for i, fact in enumerate(facts) if isinstance(fact, ev.CandidateMade))
    facts[index] = replace(facts[index], outcomes=outcomes)  # type: ignore[call-arg]
    found = " ".join(result_hints(fold(stamp(facts))))
    assert ("`optimizer.verify=joint`" in found) is hinted
