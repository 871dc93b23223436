"""What a person asked of a run: the fold over its facts."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.events import (
    EditVetoed,
    HintGiven,
    PauseDropped,
    PausePlanned,
    RunContinued,
    RunEvent,
    RunFailed,
    RunPaused,
    RunStarted,
    Stamped,
    StopRequested,
    VetoDropped,
)
from skillopt_cli.core.ledger import Worked
from skillopt_cli.core.steering import VETOED, Steering, struck, vetoed_among
from skillopt_cli.engine.controller import missing_steering

ONE, TWO = Edit("append", "- one"), Edit("append", "- two")
STARTED = RunStarted("a", "toy", 0, 4, 2, "o", "t", "d", 1, 1, 1, "hard")
FAILED = RunFailed("Interrupted", "stopped", "", 130, True)
EVENTS: list[RunEvent] = [
    STARTED,
    FAILED,
    PausePlanned(),
    RunPaused(1, "now"),
    RunPaused(1, "edits"),
    RunContinued(),
    StopRequested(),
    HintGiven(2, "be short"),
    EditVetoed(1, 1, ONE),
    VetoDropped(1, 1, ONE),
]


def told(*events: RunEvent) -> Steering:
    return reduce(Steering.after, events, Steering())


def test_a_pause_ends_by_going_on_by_an_ending_and_by_a_new_process() -> None:
    assert told(RunPaused(1, "now")).paused == "now"
    for end in (RunContinued(), FAILED, STARTED):
        after = told(PausePlanned(), RunPaused(1, "edits"), StopRequested(), end)
        assert (after.planned, after.paused) == (False, None)
        assert after.stopping == isinstance(end, RunContinued)


def test_a_planned_pause_outlives_another_and_is_used_up_where_it_takes_hold() -> None:
    assert told(RunPaused(1, "now"), PausePlanned(), RunContinued()).planned
    assert told(PausePlanned(), RunPaused(1, "now"), RunContinued()).planned
    assert not told(PausePlanned(), PauseDropped()).planned
    dropped = told(RunPaused(1, "now"), PausePlanned(), PauseDropped())
    assert (dropped.planned, dropped.paused) == (False, "now")
    assert not told(PausePlanned(), RunPaused(1, "edits")).planned


def test_hints_are_those_of_their_step_and_vetoes_hold_from_their_round_on() -> None:
    steering = told(
        HintGiven(1, "a"), HintGiven(2, "b"), HintGiven(1, "c"), EditVetoed(2, 2, TWO), STARTED
    )
    assert steering.hints_for(1) == ("a", "c")
    assert steering.hints_for(2) == ("b",)
    assert steering.hints_for(3) == ()
    assert steering.vetoes_at(1, 3) == ()
    assert steering.vetoes_at(2, 1) == steering.vetoes_at(3, 1) == (EditVetoed(2, 2, TWO),)
    later = told(EditVetoed(2, 1, ONE, round=2))
    assert later.vetoes_at(2, 1) == ()
    assert later.vetoes_at(2, 2) == later.vetoes_at(3, 1) == (EditVetoed(2, 1, ONE, round=2),)


def test_a_veto_strikes_out_every_edit_that_makes_the_change() -> None:
    again = replace(ONE, evidence="other failures", support=7, tasks=("t9",))
    vetoes = [EditVetoed(1, 3, ONE, "no"), EditVetoed(1, 2, ONE)]
    kept, out = struck([TWO, again], vetoes)
    assert kept == (TWO,)
    assert out == (EditOutcome(again, "vetoed", "no"),)
    assert vetoed_among([TWO, again], vetoes) == {2: EditVetoed(1, 3, ONE, "no")}
    assert struck([replace(ONE, file="other.md")], vetoes)[1] == ()
    assert struck([ONE], [EditVetoed(1, 1, ONE)])[1][0].reason == VETOED
    assert struck([ONE], []) == ((ONE,), ())


def test_a_veto_that_is_taken_back_holds_until_then() -> None:
    veto, other = EditVetoed(1, 1, ONE, "no"), EditVetoed(1, 2, TWO)
    again = VetoDropped(2, 3, replace(ONE, support=7), round=2)
    steering = told(veto, other, again)
    assert steering.vetoes_at(1, 1) == steering.vetoes_at(2, 1) == (veto, other)
    assert steering.vetoes_at(2, 2) == steering.vetoes_at(3, 1) == (other,)
    assert steering.lasting == (veto, other, again)
    # In one round the later fact counts, and one of an earlier step that is done again does not.
    assert told(veto, VetoDropped(1, 1, ONE), veto).vetoes_at(1, 1) == (veto,)
    assert told(again, veto).vetoes_at(3, 1) == ()


def test_a_replay_states_what_its_log_lacks_of_vetoes_given_again() -> None:
    veto, dropped = EditVetoed(1, 1, ONE), VetoDropped(1, 1, ONE)
    recorded = (veto, dropped, veto)
    for known in range(4):
        missing = missing_steering(recorded, told(*recorded[:known]))
        assert told(*recorded[:known], *missing).vetoes_at(1, 1) == (veto,)
    assert missing_steering(recorded, told(*recorded)) == ()


@given(st.lists(st.sampled_from(EVENTS), max_size=12))
def test_only_a_pause_that_was_stated_holds(events: list[RunEvent]) -> None:
    steering = told(*events)
    if steering.paused is not None:
        assert any(isinstance(event, RunPaused) for event in events)
    assert steering.hints == tuple(e for e in events if isinstance(e, HintGiven))
    assert set(steering.vetoes) <= set(events)


def test_time_on_hold_is_no_work() -> None:
    worked = Worked()
    for time, event in (
        (10.0, STARTED),
        (12.0, StopRequested()),
        (13.0, RunPaused(1, "now")),
        (60.0, HintGiven(2, "x")),
        (113.0, RunContinued()),
        (115.0, StopRequested()),
    ):
        worked = worked.after(Stamped(1, time, event))
    assert worked.seconds == 5.0
