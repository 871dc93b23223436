"""Steering in lines and in the status document."""

from __future__ import annotations

from dataclasses import replace

from facts import (
    COPY,
    TIDY,
    accepted_step,
    attempts,
    begun,
    opening,
    proposing,
    rejected_step,
    stamp,
    steered,
)

from skillopt_cli.control.commands import ControlReply
from skillopt_cli.core import events as ev
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.text.control import (
    control_lines,
    ctl_command,
    place_words,
    status_document,
    status_lines,
    unused_hints_words,
)
from skillopt_cli.runlog.text.edit import ground_line, ground_words
from skillopt_cli.runlog.text.ending import ending_lines

LIVE = ControlReply("", 12, 3, "edits", False, False, 8, {"max_usd": 2.0})


def waiting() -> list[ev.RunEvent]:
    """A step with its edits chosen, on hold, one of them vetoed."""
    until_chosen = [e for e in proposing(1) if not isinstance(e, ev.CandidateMade)]
    return [
        *opening(),
        *until_chosen,
        ev.RunPaused(1, "edits"),
        ev.EditVetoed(1, 2, COPY, "too long"),
        ev.HintGiven(2, "be\tshort"),
    ]


def test_every_fact_is_a_line_of_its_own() -> None:
    view = fold(stamp([begun(run_id="r1")]))
    said = [control_lines(event, view) for event in steered()]  # type: ignore[arg-type]
    assert said == [
        ("Control: hint for step 2: mind the units",),
        ("Control: run.max_usd none -> 2.5",),
        ("Control: will pause when edits are chosen",),
        ("Control: the planned pause is cancelled",),
        ("Control: paused, edits can be vetoed now; `skillopt ctl r1 resume` goes on",),
        ('Control: veto of edit 2 of step 1: replace "Answer." with "Copy the span." (too long)',),
        (
            "Control: the veto of edit 2 of step 1 is taken back:"
            ' replace "Answer." with "Copy the span."',
        ),
        ("Control: resumed",),
        ("Control: stopping, calls in flight may finish",),
    ]


def test_a_command_names_the_run_as_a_shell_takes_it() -> None:
    assert ctl_command(fold(()), "resume") == "skillopt ctl RUN resume"
    named = fold(stamp([begun(run_id="my run")]))
    assert ctl_command(named, "veto N") == "skillopt ctl 'my run' veto N"


def test_a_hint_that_no_reflection_read_is_named_once_the_run_is_over() -> None:
    given = [*opening(), *accepted_step(1), ev.HintGiven(2, "be short")]
    assert unused_hints_words(fold(stamp(given))) == ""
    finished = ev.RunFinished(1, 1, 0.8, 0, 0)
    ended = fold(stamp([*given, finished]))
    words = "the hint for step 2 was not used: no reflection read it"
    assert unused_hints_words(ended) == words
    assert f"Note: {words}" in ending_lines(ended, finished)
    twice = fold(stamp([*given, ev.HintGiven(2, "be brief"), finished]))
    assert unused_hints_words(twice) == "2 hints were not used: no reflection read them"
    stopped = ev.RunFailed("Interrupted", "stopped by the user", "", 130, True)
    later = fold(stamp([*given, stopped]))
    words = "the hint for step 2 was not used yet: a resume of the run reads it"
    assert unused_hints_words(later) == words
    assert unused_hints_words(replace(fold(stamp(given)), deserted=True)) == words
    read = fold(stamp([*given, *rejected_step(2), finished]))
    assert read.step_at(2) and unused_hints_words(read) == ""
    asked_nobody = ev.PatchesProposed(2, 0, 0, 0, 0)
    assert unused_hints_words(fold(stamp([*given, asked_nobody, finished])))


def test_the_status_of_a_run_at_work_lists_the_edits_that_wait() -> None:
    document = status_document(fold(stamp(waiting())), LIVE)
    assert (document["status"], document["paused"], document["pid"]) == ("running", "edits", 12)
    assert (document["step"], document["in_flight"], document["max_concurrency"]) == (1, 3, 8)
    assert document["caps"] == {"max_usd": 2.0}
    shown = [(e["number"], e["content"], e["vetoed"], e["reason"]) for e in document["edits"]]
    assert shown[:2] == [(1, TIDY.content, False, ""), (2, COPY.content, True, "too long")]
    lines = status_lines(document)
    assert lines[0].endswith(": paused with its edits chosen, step 1 of 3")
    assert document["edits"][0]["ground"] == ground_words(TIDY)
    assert document["most_edits"] is None
    assert any(line.startswith("edit 2 (vetoed): replace") for line in lines)
    assert lines[lines.index('edit 1: add "Answer with one to three words."') + 1] == (
        "  from 5 failed attempts"
    )
    assert "hint for step 2: be short" in lines


def test_the_tasks_of_an_edit_are_named_with_what_it_rests_on() -> None:
    words = "from 5 failed attempts"
    assert ground_line(words, ()) == words
    assert ground_line(words, ("t1",)) == f"{words}; for task t1"
    assert ground_line(words, ("a", "b", "c", "d\n")) == f"{words}; for tasks a, b, c and 1 more"
    facts = [
        replace(e, chosen=(replace(TIDY, tasks=("t1", "t2")),))
        if isinstance(e, ev.EditsChosen)
        else e
        for e in waiting()[:-2]
    ]
    assert f"  {words}; for tasks t1, t2" in status_lines(status_document(fold(stamp(facts)), LIVE))


def test_edits_of_which_fewer_may_stay_are_told_with_that_number() -> None:
    facts = [replace(e, edit_budget=1) if isinstance(e, ev.StepStarted) else e for e in waiting()]
    document = status_document(fold(stamp(facts)), LIVE)
    assert (len(document["edits"]), document["most_edits"]) == (3, 1)
    assert "of the edits 1 may stay once they are tried" in status_lines(document)


def test_no_edit_waits_while_it_is_tried() -> None:
    facts = [*waiting()[:-3], ev.StageStarted(1, "verify", 4, 2), ev.RunPaused(1, "now")]
    document = status_document(fold(stamp(facts)), LIVE)
    assert (document["paused"], document["stages"]) == ("now", ["verify"])
    assert document["edits"] == []


def test_the_place_of_a_run_is_its_step_or_how_many_are_recorded() -> None:
    for facts, place in (
        (opening(), ", 0 of 3 steps recorded"),
        ([*opening(), ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine")], ", step 1 of 3"),
    ):
        assert place_words(status_document(fold(stamp(facts)), None)) == place


def test_the_attempts_of_the_stages_at_work_are_counted() -> None:
    """Also those of programs, whose calls nobody counts."""
    quiet = replace(LIVE, in_flight=0, paused=None)
    facts = [begun(), ev.StageStarted(0, "measure", 5, 2), *attempts(0, "measure", 2, wins=1)]
    document = status_document(fold(stamp(facts)), quiet)
    assert document["attempts"] == {"ended": 2, "total": 5, "in_flight_at_most": 2}
    assert "attempts: 2 of 5 ended, at most 2 in flight" in status_lines(document)
    facts += attempts(0, "measure", 2, wins=1)
    assert "attempts: 4 of 5 ended, at most 1 in flight" in status_lines(
        status_document(fold(stamp(facts)), quiet)
    )
    # A stage without attempts has none, nor has a run without a process.
    asking = [*opening(), ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine"), *proposing(1)[:1]]
    asking += [ev.StageStarted(1, "reflect", 4, 2)]
    for view, live in ((fold(stamp(asking)), quiet), (fold(stamp(facts)), None)):
        document = status_document(view, live)
        assert document["attempts"] is None
        assert not any(line.startswith("attempts") for line in status_lines(document))


def test_an_edit_whose_veto_was_taken_back_waits_as_before() -> None:
    document = status_document(fold(stamp([*waiting(), ev.VetoDropped(1, 2, COPY)])), LIVE)
    assert [edit["vetoed"] for edit in document["edits"]].count(True) == 0


def test_without_a_process_the_log_says_what_it_can() -> None:
    gone = replace(fold(stamp(waiting())), deserted=True)
    document = status_document(gone, None)
    assert (document["status"], document["paused"]) == ("interrupted", None)
    assert (document["pid"], document["in_flight"], document["edits"]) == (None, None, [])
    assert document["caps"] == {"max_usd": 0.05, "max_calls": 1000}
    assert document["max_concurrency"] == 64
    assert status_document(fold(()), None)["run_id"] is None
    assert status_lines(status_document(fold(()), None))


def test_a_step_taken_up_again_keeps_its_vetoes_and_ends_the_pause() -> None:
    view = fold(stamp([*waiting(), begun()]))
    assert view.steering.paused is None
    assert [v.number for v in view.steering.vetoes_at(1, 1)] == [2]
