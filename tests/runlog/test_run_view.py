"""The fold: what it knows, and that a crash and a resume change nothing that was found out."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from facts import (
    START,
    accepted_step,
    attempts,
    begun,
    closing,
    one_of_each,
    opening,
    proposing,
    rejected_step,
    skipped_step,
    stamp,
    states,
    whole_run,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_cli.core import events as ev
from skillopt_cli.core.ledger import Ledger
from skillopt_cli.core.task import Usage
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import VOLATILE, history
from skillopt_cli.runlog.summary import summarise
from skillopt_cli.runlog.text.ending import finish_line, notice_words, trouble_words
from skillopt_cli.runlog.text.format import duration
from skillopt_cli.runlog.text.limits import slowed
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.event_log import read_fact

GOLDEN = Path(__file__).parents[1] / "engine" / "golden" / "default_checked" / "events.jsonl"
"""The log of a run with verified edits, and a check of what they break."""


def found_out(view: RunView) -> dict[str, Any]:
    """Scores and decisions: all that must not depend on how often the run was interrupted."""
    times = {"began": 0.0, "earlier": 0.0, "ended": None, "seconds": {}}
    timeless = {**times, "ledger": Ledger()}
    return {
        "baseline": view.baseline,
        "standing": view.standing,
        "done": view.done,
        "steps": [replace(step, **timeless) for step in view.steps],  # type: ignore[arg-type]
        "history": [
            {key: value for key, value in record.items() if key not in VOLATILE}
            for record in history(view)
        ],
        "tests": view.tests,
        "broken": view.broken,
        "degraded": view.degraded,
        "saved": view.rollouts_saved,
        "ending": view.ending,
    }


def paid(fact: ev.RunEvent) -> bool:
    return isinstance(fact, ev.CallMade)


def resumed(clean: list[ev.RunEvent], cuts: list[int], announced: bool) -> list[ev.RunEvent]:
    """The log of a run killed after `cuts` facts of work, counted from each take-up."""
    log: list[ev.RunEvent] = []
    rest = clean
    for cut in cuts:
        log += rest[:cut]
        points = [i for i, fact in enumerate(clean) if isinstance(fact, ev.CheckpointSaved)]
        behind = len(clean) - len(rest) + min(cut, len(rest))
        saved = [i for i in points if (i < behind if announced else i <= behind)]
        done = clean[saved[-1]].done if saved else 0  # type: ignore[union-attr]
        rest = clean[saved[-1] + 1 :] if saved else clean[1:]
        log.append(begun(done))
    return log + rest


@settings(max_examples=60)
@given(
    cuts=st.lists(st.integers(1, len(whole_run())), min_size=1, max_size=4),
    announced=st.booleans(),
)
def test_crash_and_resume_change_no_score_and_no_decision(cuts: list[int], announced: bool) -> None:
    clean = whole_run()
    log = resumed(clean, cuts, announced)
    assert found_out(fold(stamp(log))) == found_out(fold(stamp(clean)))


def test_a_step_that_was_not_recorded_is_dropped_at_resume() -> None:
    log = [*opening(), *accepted_step(1), *rejected_step(2)[:-1]]
    assert len(fold(stamp(log)).steps) == 2
    view = fold(stamp([*log, begun(done=1)]))
    assert [step.number for step in view.steps] == [1]
    assert view.standing.current == 0.8


def test_a_fallback_to_an_older_checkpoint_takes_the_scores_back() -> None:
    view = fold(stamp([*opening(), *accepted_step(1), begun(done=0)]))
    assert view.steps == ()
    assert (view.standing.current, view.standing.best_step) == (0.65, 0)


def test_a_step_counts_once_it_is_recorded() -> None:
    log = [*opening(), *accepted_step(1), *rejected_step(2)[:-1]]
    assert summarise(fold(stamp(log)))["total_steps"] == 1


def test_what_was_paid_counts_over_all_processes() -> None:
    once = [*opening(), *proposing(1)]
    view = fold([*stamp(once), *stamp([begun(0), *proposing(1)], start=START + 1000)])
    first = fold(stamp(once))
    assert view.made == first.made + 4
    assert view.spent_by("optimizer").calls == 2
    assert view.wall_time == pytest.approx((len(once) - 1) + len(proposing(1)))


def test_a_step_begun_anew_keeps_what_was_paid_for_it_before() -> None:
    (once,) = fold(stamp([*opening(), *accepted_step(1)])).steps
    (step,) = fold(stamp([*opening(), *proposing(1), begun(0), *accepted_step(1)])).steps
    first, before = once.ledger.total.calls, len([f for f in proposing(1) if paid(f)])
    assert step.ledger.total.calls == first + before


def test_a_test_of_a_skill_that_is_the_best_no_more_is_forgotten() -> None:
    log = [*opening(), *accepted_step(1), *closing()[:-1], begun(done=1)]
    assert set(fold(stamp(log)).tests) == {"seed", "best", "final"}
    later = fold(stamp([*log, *accepted_step(2), ev.RunFailed("BudgetExhausted", "", "", 5, True)]))
    assert set(later.tests) == {"seed"}


def test_drift_told_before_the_next_start_does_not_count_the_pause_as_work() -> None:
    log = [
        *stamp([begun()]),
        *stamp([ev.DriftAllowed(("train.seed: 1 -> 2",)), begun()], start=START + 99),
    ]
    assert fold(log).wall_time == 0.0


def test_broken_attempts_of_a_stage_done_again_are_counted_once() -> None:
    stage = [ev.StageStarted(1, "rollout", 4, 4), *attempts(1, "rollout", 4, wins=1, broken=2)]
    view = fold(stamp([*opening(), *stage, begun(0), *stage]))
    assert view.broken_total == 2


def test_mishaps_of_an_unfinished_baseline_are_counted_anew() -> None:
    start = [begun(), ev.Degraded("measure", "odd")]
    assert fold(stamp([*start, *start])).degraded_by_place == {"measure": 1}


def test_what_each_process_states_as_it_begins_counts_once() -> None:
    said = [
        ev.Degraded("target", "not isolated"),
        ev.Degraded("skill", "one"),
        ev.Degraded("budget", "nothing is kept for the test"),
    ]
    work = [*said, *accepted_step(1), ev.Degraded("reflect", "no answer")]
    view = fold(stamp([begun(), *work, begun(1), *said, ev.Degraded("reflect", "no answer")]))
    assert view.degraded_by_place == {"budget": 1, "reflect": 2, "skill": 1, "target": 1}
    assert trouble_words(view) == (
        "budget: nothing is kept for the test; reflect 2 times, last: no answer"
    )
    assert notice_words(view) == "skill: one; target: not isolated"


def test_time_left_of_a_stage_is_unknown_until_a_wave_of_workers_is_back() -> None:
    start = [*opening(), ev.StageStarted(1, "rollout", 40, 4)]
    assert fold(stamp(start)).stages[0].left(START) is None
    ended = [ev.RolloutFinished(1, "rollout", str(i), 1, 1, "answered", False) for i in range(10)]
    view = fold(stamp([*start, *ended[:3]]))
    assert view.stages[0].left(view.time) is None
    view = fold(stamp([*start, *ended]))
    assert view.stages[0].left(view.time) == pytest.approx(30.0)
    assert view.stages[0].left(view.time + 5) == pytest.approx(25.0)
    assert view.stages[0].left(view.time + 32) == 0.0
    assert view.stages[0].left(view.time + 500) is None


@pytest.mark.parametrize(("stage", "label"), [("verify", "alone_01"), ("check", "together")])
def test_texts_tried_in_one_stage_count_for_it_whatever_their_label(
    stage: ev.StageName, label: str
) -> None:
    start = [*opening(), ev.StageStarted(1, stage, 40, 4)]
    view = fold(stamp([*start, *attempts(1, stage, 5, wins=1, broken=1, label=label)]))
    assert (view.stages[0].done, view.stages[0].broken) == (5, 1)
    # Nobody knows how many rounds follow.
    assert view.stages[0].left(view.time) is None and view.stages[0].round == 1
    # Arms that are measured at a time stay apart.
    arms = [ev.StageStarted(0, "test", 8, 4, arm) for arm in ("seed", "best")]
    tested = fold(stamp([begun(), *arms, *attempts(0, "test", 3, wins=3, label="best")]))
    assert [arm.done for arm in tested.stages] == [0, 3]


def test_every_attempt_of_a_verified_run_counts_for_a_stage() -> None:
    """A stage that ends has as many attempts as it announced, unless its verdict was settled."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    view, ended = RunView(), 0
    for number, line in enumerate(lines, 1):
        fact = read_fact(GOLDEN, f"line {number}", line.encode())
        event = fact.event
        if isinstance(event, ev.StageFinished) and event.stage in ev.ATTEMPTING:
            (stage,) = [s for s in view.stages if s.key == (event.step, event.stage, event.label)]
            assert stage.done == stage.total or event.stage == "measure", stage
            ended += event.stage in ("verify", "check")
        view = fold([fact], view)
    assert ended > 5


def test_the_rounds_of_a_stage_and_their_attempts_only_grow_within_a_step() -> None:
    view, shown = RunView(), dict[tuple[int, str], list[tuple[int, int, int]]]()
    for number, line in enumerate(GOLDEN.read_text(encoding="utf-8").splitlines(), 1):
        view = fold([read_fact(GOLDEN, f"line {number}", line.encode())], view)
        for stage in view.stages:
            if stage.open_ended:
                place = shown.setdefault((stage.step, stage.stage), [])
                place.append((stage.round, *stage.so_far))
    assert max(place[-1][0] for place in shown.values()) > 2
    for place in shown.values():
        for before, after in pairwise(place):
            assert all(one <= other for one, other in zip(before, after, strict=True))
            assert after[0] - before[0] <= 1


def test_the_edits_chosen_are_those_of_all_rounds() -> None:
    facts = [
        read_fact(GOLDEN, f"line {number}", line.encode())
        for number, line in enumerate(GOLDEN.read_text(encoding="utf-8").splitlines(), 1)
    ]
    choices = [fact.event for fact in facts if isinstance(fact.event, ev.EditsChosen)]
    view = fold(facts)
    for step, record in zip(view.steps, history(view), strict=True):
        own = [choice for choice in choices if choice.step == step.number]
        assert [choice.round for choice in own] == [1, 2]
        assert record["n_edits_ranked"] == sum(len(choice.chosen) for choice in own)
        assert len(record["support_counts"]) == record["n_edits_ranked"]
        assert step.chosen == own[-1]
        tried = sum(len(event.trials) for event in step.verified)
        assert tried <= record["n_edits_ranked"] <= record["n_edits_merged"]


def test_recalled_attempts_say_nothing_about_time() -> None:
    ended = [ev.RolloutFinished(1, "rollout", str(i), 1, 1, "answered", True) for i in range(10)]
    view = fold(stamp([*opening(), ev.StageStarted(1, "rollout", 40, 4), *ended]))
    assert view.stages[0].left(view.time) is None
    assert (view.recalled, view.stages[0].done) == (10, 10)


def test_attempts_without_a_call_are_counted_where_each_takes_one() -> None:
    made = attempts(1, "rollout", 4, wins=2, broken=1)
    free = ev.RolloutFinished(1, "rollout", "t9", 1, 1, "answered", recalled=False)
    turn = ev.CallMade("target", "rollout", Usage(1, 100, 5, 60), 0.0005, turn=1)
    assert fold(stamp([*opening(), *made])).uncalled == 0
    assert fold(stamp([*opening(), *made, free, free])).uncalled == 2
    assert fold(stamp([*opening(), *made, free, turn])).uncalled == 0


def test_time_left_of_the_run_comes_from_recorded_steps() -> None:
    facts = [*opening(), *accepted_step(1)]
    assert fold(stamp(facts[:-1])).left(START) is None
    view = fold(stamp(facts))
    assert view.left(view.time) == pytest.approx(2 * (len(accepted_step(1)) - 1))
    assert fold(stamp(whole_run())).left(START) is None


def test_overlapping_stages_are_told_apart() -> None:
    view = fold(
        stamp([
            *opening(),
            ev.StageStarted(1, "rollout", 4, 4),
            ev.StageStarted(1, "reflect", 2, 2),
            ev.CallMade("optimizer", "reflect", Usage(1, 1, 1)),
            *attempts(1, "rollout", 2, wins=2),
        ])
    )
    assert [(s.stage, s.done, s.calls) for s in view.stages] == [
        ("rollout", 2, 2),
        ("reflect", 0, 1),
    ]


def test_what_the_latest_process_heard_of_its_models_is_known() -> None:
    slow, fast = (ev.PaceChanged("p", "m", n, None, "why") for n in (2, 64))
    view = fold(stamp([begun(), *[ev.ParameterRefused("target", "m", "seed")] * 2, slow]))
    assert len(view.refused) == 1
    assert slowed(view) == [slow]
    assert slowed(fold(stamp([fast]), view)) == []


def test_facts_without_their_step_or_stage_do_no_harm() -> None:
    view = fold(stamp([*accepted_step(2)[1:], ev.StageFinished(7, "select")]))
    assert [step.number for step in view.steps] == [2]
    assert view.standing.best == 0.8


def test_actions_use_the_words_of_the_history() -> None:
    view = fold(stamp([*opening(), *accepted_step(1), *rejected_step(2), *skipped_step(3)]))
    assert [step.action for step in view.steps] == ["accept_new_best", "reject", "skip_no_patches"]
    unmatched = [*opening(), *proposing(1), ev.StepSkipped(1, "no edit changed the skill")]
    assert fold(stamp(unmatched)).steps[0].action == "skip_no_op"


def test_trend_and_savings() -> None:
    view = fold(stamp(whole_run()))
    assert view.trend == (0.65, 0.8, 0.8, 0.8)
    assert view.rollouts_saved == 14


def test_the_recorded_facts_cover_the_union() -> None:
    assert {type(fact) for fact in one_of_each()} == set(get_args(ev.RunEvent))


@pytest.mark.parametrize("name", states())
def test_the_view_is_a_value(name: str) -> None:
    facts = stamp(states()[name])
    assert fold(facts) == fold(facts)


def test_no_duration_of_a_run_counts_its_pauses() -> None:
    def shown(view: RunView) -> tuple[str, ...]:
        assert isinstance(view.ending, ev.RunFinished)
        (spent,) = re.findall(r" saved, in (.*)", as_markdown(run_report(Subject("a", view))))
        wall = summarise(view)["wall_time_s"]
        return finish_line(view, view.ending), spent, duration(wall), duration(view.wall_time)

    facts = whole_run()
    plain, time = fold(stamp(facts)), stamp(facts)[0].time
    held: list[ev.Stamped] = []
    for fact in facts:
        pause = [ev.RunPaused(0, "now")] if held and fact is not facts[-1] else []
        held += stamp([fact, *pause], start=time, pace=0.0)
        time += 3600 if pause else 0
        held += stamp([ev.RunContinued()] if pause else [], start=time)
        time += 1
    assert fold(held).time - plain.time > 3600
    assert shown(fold(held)) == shown(plain)
    assert len({*shown(plain)[1:]}) == 1


def test_a_step_counts_no_time_in_which_its_run_is_paused() -> None:
    facts = [*opening(), *accepted_step(1)]
    pause = next(i for i, fact in enumerate(facts) if isinstance(fact, ev.StageFinished)) + 2
    plain = fold(stamp(facts))
    first = fold(stamp([*facts[:pause], ev.RunPaused(1, "now")]))
    paused = fold(stamp([ev.RunContinued(), *facts[pause:]], start=first.time + 3600), first)
    (step,), (other,) = plain.steps, paused.steps
    assert other.wall_time == pytest.approx(step.wall_time, abs=1)
    assert other.seconds == pytest.approx(step.seconds, abs=1)
    assert paused.wall_time == pytest.approx(plain.wall_time, abs=1)
