"""The evidence of an edit: the tasks it was tried on and what came out, in every display."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from facts import accepted_step, begun, opening, stamp

from skillopt_cli.core import events as ev
from skillopt_cli.core.edit_counts import outcomes_words
from skillopt_cli.core.edits import Edit, EditOutcome, EditState, Source, Trial
from skillopt_cli.core.verification import unverified
from skillopt_cli.reports.diff.blame import Cause
from skillopt_cli.reports.page import Details, Line, as_markdown
from skillopt_cli.reports.run.document import report_document
from skillopt_cli.reports.run.figures import edits_in_full
from skillopt_cli.reports.run.html import as_html
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.steps import step_blocks
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.text.edit import ground_words, trial_words
from skillopt_cli.runlog.text.header import families_note
from skillopt_cli.runlog.view import RunView

EDIT = Edit("append", "- Be brief.", support=3, evidence="3 of 4 answers\nwere sentences")


def trial(tried: str = "", fixed: str = "", broke: str = "", needed: int = 1) -> Trial:
    return Trial(EDIT, tuple(tried), tuple(fixed), needed, tuple(broke))


def test_edits_that_came_up_in_two_rounds_are_counted_so_that_they_add_up() -> None:
    edits = tuple(Edit("append", f"- rule {i}") for i in range(3))
    rounds = [ev.EditsChosen(1, edits[:2], ()), ev.EditsChosen(1, edits[1:], (), 2)]
    tried = [
        ev.EditsVerified(1, made.round, tuple(Trial(e, ("t1",)) for e in made.chosen), 0)
        for made in rounds
    ]
    outcomes = tuple(EditOutcome(e, "unverified", "", Trial(e, ("t1",))) for e in edits)
    facts = [
        *opening(),
        ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine"),
        *(ev.PatchesProposed(1, 1, 1, 0, 2) for _ in rounds),
        *(ev.EditsMerged(1, 2, 2) for _ in rounds),
        *(fact for pair in zip(rounds, tried, strict=True) for fact in pair),
        ev.CandidateMade(1, "d", 100, outcomes),
    ]
    step = fold(stamp(facts)).steps[0]
    lines = [block.text for block in step_blocks(step) if isinstance(block, Line)]
    assert any(
        line.endswith(
            "4 to be verified, 1 of them the same as in an earlier round, so 3 different edits"
        )
        for line in lines
    )
    assert "Round 2: Verify: 2 edits tried on failed tasks, 0 kept" in lines
    (full,) = edits_in_full(step)
    assert isinstance(full, Details)
    assert full.title == "3 edits of step 1 in full, the same edit of several rounds once"


@pytest.mark.parametrize(
    ("tried", "words"),
    [
        (
            trial("abc", "abc"),
            "it solved 3 of 3 tasks it was written for (a, b, c), 1 needed to pass",
        ),
        (trial("ab", "b"), "it solved 1 of 2 tasks it was written for (b), 1 needed to pass"),
        (
            trial("a", "a", "xy"),
            "it solved 1 of 1 task it was written for (a), 1 needed to pass, broke 2 (x, y)",
        ),
        (
            trial("abcdefgh", "abcd", needed=4),
            "it solved 4 of 8 tasks it was written for (a, b, c and 1 more), 4 needed to pass",
        ),
        (
            Trial(EDIT, ("a\x1b[1m\nb",), ("a\x1b[1m\nb",)),
            "it solved 1 of 1 task it was written for (a?[1m b), 1 needed to pass",
        ),
        (trial(), "it solved 0 of 0 tasks it was written for"),
        (
            Trial(replace(EDIT, tasks=("a", "b")), ("b", "a"), ("b",)),
            "it solved 1 of 2 tasks it was written for (b), 1 needed to pass",
        ),
        # Those that it was found to solve beside other edits.
        (
            Trial(replace(EDIT, tasks=("a", "b")), ("c", "a"), ("c",)),
            "it solved 1 of 2 tasks it was tried on (c), 1 needed to pass",
        ),
        (
            Trial(EDIT, ("c", "a"), ("c",), joint=True),
            "with other edits, it solved 1 of 2 tasks (c), 1 needed to pass",
        ),
    ],
)
def test_a_trial_in_words(tried: Trial, words: str) -> None:
    assert trial_words(tried) == words
    assert Cause(1, (EDIT,), trials=(tried,)).lines[0].endswith(f"], {words}")


@pytest.mark.parametrize(
    ("checked", "broke", "words"),
    [
        (0, "", ""),
        (1, "", ", broke 0 of 1 solved task"),
        (5, "xy", ", broke 2 of 5 solved tasks (x, y)"),
    ],
)
def test_a_trial_states_on_how_many_solved_tasks_it_was(
    checked: int, broke: str, words: str
) -> None:
    said = trial_words(trial("a", "a", broke), checked)
    assert said == f"it solved 1 of 1 task it was written for (a), 1 needed to pass{words}"


def view_of(*outcomes: EditOutcome, checked: int = 0) -> RunView:
    made = list[ev.RunEvent]()
    for fact in [*opening(), *accepted_step(1)]:
        if isinstance(fact, ev.CandidateMade):
            made += [ev.PassingChecked(1, checked, (), (), ())] if checked else []
            fact = replace(fact, outcomes=outcomes)
        made.append(fact)
    return fold(stamp(made))


@pytest.mark.parametrize("checked", [0, 5])
@pytest.mark.parametrize("state", ["applied", "over_budget", "harmful", "unmatched"])
def test_every_tried_edit_shows_its_tasks_whatever_became_of_it(
    state: EditState, checked: int
) -> None:
    outcome = EditOutcome(EDIT, state, "", trial("ab", "b"))
    (step,) = view_of(outcome, checked=checked).steps
    # What is above the learning rate is in no text that is tried on solved tasks.
    tried = checked and state != "over_budget"
    broke = ", broke 0 of 5 solved tasks" if tried else ""
    said = f"it solved 1 of 2 tasks it was written for (b), 1 needed to pass{broke}"
    shown = as_markdown(step_blocks(step)).replace("\\", "")
    assert f", {said}\n" in shown
    # Said once for all edits of the candidate.
    assert ("- Check: none; " in shown) == (state == "applied" and not checked)
    whole = as_markdown(edits_in_full(step)).replace("\\", "")
    assert f"- evidence: 3 of 4 answers were sentences\n- tried before the gate: {said}\n" in whole


def shown_edits(*outcomes: EditOutcome) -> list[str]:
    """The lines of a step's report on these edits."""
    (step,) = view_of(*outcomes).steps
    lines = as_markdown(step_blocks(step)).replace("\\", "").splitlines()
    fates = {step.fate(outcome) for outcome in outcomes}
    begins = tuple(f"- {before}{fate}" for fate in fates for before in ("", "left out, "))
    return [line for line in lines if line.startswith(begins)]


@pytest.mark.parametrize(
    ("tried", "reason", "named"),
    [
        (
            trial("abc", "b", needed=2),
            "it solved 1 of 3 tasks it was written for, 2 needed to pass",
            ", solved b",
        ),
        (trial("abc"), "it solved 0 of 3 tasks it was written for", ""),
        (trial(), "none of its tasks could be scored", ""),
    ],
)
def test_an_edit_that_failed_verification_states_what_it_lacked(
    tried: Trial, reason: str, named: str
) -> None:
    (line,) = shown_edits(unverified(tried))
    assert line.startswith(f"- failed verification ({reason}): add ")
    assert line.endswith(f"from 3 failed attempts]{named}")


def test_an_edit_that_passed_and_was_left_out_later_did_not_fail_its_trial() -> None:
    outcome = EditOutcome(EDIT, "unverified", "of no use with the others", trial("a", "a"))
    (line,) = shown_edits(outcome)
    assert line.startswith("- kept at first (of no use with the others): add ")
    assert outcomes_words([outcome, unverified(trial("a"))]) == (
        "1 failed verification, 1 kept at first"
    )


def test_many_edits_with_one_reason_are_counted_and_the_first_are_listed() -> None:
    edits = [replace(EDIT, content=f"- rule {i}") for i in range(9)]
    crowded = [EditOutcome(edit, "not_selected", "no room") for edit in edits[:6]]
    over = [EditOutcome(edit, "over_budget") for edit in edits[6:8]]
    lone = EditOutcome(edits[8], "vetoed", "by a person")
    ground = "[from 3 failed attempts]"
    assert shown_edits(*crowded, *over, lone) == [
        "- not selected (no room), 6 edits:",
        *(f'- not selected: add "- rule {i}" {ground}' for i in range(3)),
        "- not selected: 3 more, listed in edit_report.json",
        *(f'- left out, above the learning rate: add "- rule {i}" {ground}' for i in (6, 7)),
        f'- vetoed (by a person): add "- rule 8" {ground}',
    ]


def test_every_edit_of_the_candidate_is_listed() -> None:
    edits = [replace(EDIT, content=f"- rule {i}") for i in range(9)]
    assert len(shown_edits(*(EditOutcome(edit, "applied") for edit in edits))) == 9


def test_an_edit_that_was_not_tried_shows_no_trial() -> None:
    (step,) = view_of(EditOutcome(EDIT, "applied")).steps
    for blocks in (step_blocks(step), edits_in_full(step)):
        assert "tried" not in as_markdown(blocks)


def test_the_page_and_the_document_have_the_trial() -> None:
    view = view_of(EditOutcome(EDIT, "applied", "", trial("ab", "b")))
    page = as_html(run_report(Subject("a", view), illustrated=True))
    said = "it solved 1 of 2 tasks it was written for (b), 1 needed to pass"
    assert said in page
    (run,) = report_document([Subject("a", view)])["runs"]
    (edit,) = json.loads(json.dumps(run["steps"][0]["edits"]))
    assert edit["trial"]["tried"] == ["a", "b"]
    assert edit["trial"]["fixed"] == ["b"]
    assert edit["evidence"] == EDIT.evidence


@pytest.mark.parametrize(
    ("source", "support", "words"),
    [
        ("failure", 1, "from 1 failed attempt"),
        ("success", 2, "from 2 successful attempts"),
        ("merged", 3, "from 3 attempts"),
        ("failure", 0, "from failed attempts"),
    ],
)
def test_what_an_edit_rests_on_is_stated_in_plain_words(
    source: Source, support: int, words: str
) -> None:
    assert ground_words(replace(EDIT, source=source, support=support)) == words


@pytest.mark.parametrize(
    ("optimizer", "steps", "noted"),
    [
        ("simulated", 2, True),
        ("simulated/x", 2, True),
        ("rules", 2, False),
        ("simulated", 0, False),
    ],
)
def test_families_of_the_simulated_model_are_explained(
    optimizer: str, steps: int, noted: bool
) -> None:
    started = begun(optimizer=optimizer, total_steps=steps)
    assert ("(family 8)" in families_note(started)) is noted
    if steps:
        page = as_markdown(run_report(Subject("a", fold(stamp([started, *accepted_step()])))))
        assert ("numbered family" in page) is noted
