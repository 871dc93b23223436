"""The time a run still takes: planned first, measured later."""

from __future__ import annotations

import pytest
from facts import accepted_step, begun, closing, opening, proposing, rejected_step, stamp, states
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core import events as ev
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.remaining import Schedule, measured_pace, seconds_left
from skillopt_cli.runlog.view import RunView

PLAN = Schedule(baseline=20, steps=(30, 40, 50), closing=60)


def after(*facts: ev.RunEvent, pace: float = 1.0) -> RunView:
    return fold(stamp(facts, pace=pace))


def test_the_plan_holds_from_the_first_second_on() -> None:
    view = after(begun())
    assert seconds_left(view, view.time, PLAN) == 200
    assert seconds_left(view, view.time) is None
    assert not measured_pace(view)


def test_the_baseline_at_work_counts_down() -> None:
    view = after(begun(), ev.StageStarted(0, "measure", 20, 4))
    assert seconds_left(view, view.time + 5, PLAN) == 195
    # One that takes longer than planned never makes the rest shorter.
    assert seconds_left(view, view.time + 500, PLAN) == 180


def test_before_a_step_is_recorded_the_pace_of_the_attempts_counts() -> None:
    view = after(*opening())
    wave = view.waves[-1]
    slow = Schedule(20, (30, 40, 50), 60, wave=wave / 3)
    assert seconds_left(view, view.time, slow) == pytest.approx(3 * 180)


def test_recorded_steps_say_how_far_off_the_plan_is() -> None:
    view = after(*opening(), *accepted_step(1))
    step = view.steps[0]
    assert step.ended is not None
    factor = (step.ended - step.began) / 30
    assert measured_pace(view)
    assert seconds_left(view, view.time, PLAN) == pytest.approx(factor * 150)


def test_the_step_at_work_is_taken_off() -> None:
    view = after(*opening(), *accepted_step(1), *proposing(2)[:1])
    whole, later = (seconds_left(view, view.time + s, PLAN) for s in (0, 7))
    assert whole is not None and later == pytest.approx(whole - 7)


def test_a_resumed_run_has_only_what_is_left_in_its_plan() -> None:
    left = Schedule(0, (40, 50), 60)
    assert left.step(1, 3) is None
    assert (left.step(2, 3), left.step(3, 3)) == (40, 50)
    fresh = after(begun(1))
    assert seconds_left(fresh, fresh.time, left) == 150


def test_the_pace_of_a_resumed_run_is_that_of_the_steps_in_its_plan() -> None:
    view = after(*opening(), *accepted_step(1), *rejected_step(2, current=0.65, holder=0))
    first, second = (s.ended - s.began for s in view.steps if s.ended is not None)
    left = Schedule(0, (40, 50), 60)
    assert first > 0
    assert seconds_left(view, view.time, left) == pytest.approx(110 * second / 40)


def test_a_run_out_of_patience_has_its_tests_left() -> None:
    view = after(*opening(), *rejected_step(1, current=0.65, holder=0), ev.StoppedEarly("enough"))
    step = view.steps[0]
    assert step.ended is not None
    left = seconds_left(view, step.ended, PLAN)
    assert left == pytest.approx(60 * (step.ended - step.began) / 30)


def test_nothing_is_left_of_a_run_that_ended_nor_known_of_an_evaluation() -> None:
    done = after(*opening(), *accepted_step(1), *closing())
    assert seconds_left(done, done.time, PLAN) is None
    assert seconds_left(after(begun(total_steps=0)), 0.0, PLAN) is None


@given(st.sampled_from(sorted(states())), st.floats(0, 1e6), st.integers(0, 200))
def test_no_time_is_negative(name: str, later: float, upto: int) -> None:
    view = fold(stamp(states()[name][:upto]))
    left = seconds_left(view, view.time + later, PLAN)
    assert left is None or left >= 0
