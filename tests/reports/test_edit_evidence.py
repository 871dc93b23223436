"""The evidence of an edit: the tasks it was tried on and what came out, in every display."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from facts import accepted_step, opening, stamp

from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit, EditOutcome, EditState, Trial
from skillopt_cli.core.verification import unverified
from skillopt_cli.reports.diff.blame import Cause
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.reports.run.document import report_document
from skillopt_cli.reports.run.figures import edits_in_full
from skillopt_cli.reports.run.html import as_html
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.steps import step_blocks
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.text.edit import trial_words
from skillopt_cli.runlog.view import RunView

EDIT = Edit("append", "- Be brief.", support=3, evidence="3 of 4 answers\nwere sentences")


def trial(tried: str = "", fixed: str = "", broke: str = "", needed: int = 1) -> Trial:
    return Trial(EDIT, tuple(tried), tuple(fixed), needed, tuple(broke))


@pytest.mark.parametrize(
    ("tried", "words"),
    [
        (trial("abc", "abc"), "solved 3 of 3 tasks it was written for (solved a, b, c)"),
        (trial("ab", "b"), "solved 1 of 2 tasks it was written for (solved b; not a)"),
        (
            trial("a", "a", "xy"),
            "solved 1 of 1 task it was written for, broke 2 (solved a; broke x, y)",
        ),
        (
            trial("abcdefgh", "abcd"),
            "solved 4 of 8 tasks it was written for (solved a, b, c and 1 more; not e, f,"
            " g and 1 more)",
        ),
        (
            Trial(EDIT, ("a\x1b[1m\nb",), ()),
            "solved 0 of 1 task it was written for (not a?[1m b)",
        ),
        (trial(), "solved 0 of 0 tasks it was written for"),
        (
            Trial(replace(EDIT, tasks=("a", "b")), ("b", "a"), ("b",)),
            "solved 1 of 2 tasks it was written for (solved b; not a)",
        ),
        # Those that it was found to solve beside other edits.
        (
            Trial(replace(EDIT, tasks=("a", "b")), ("c", "a"), ("c",)),
            "solved 1 of 2 tasks it was tried on (solved c; not a)",
        ),
    ],
)
def test_a_trial_in_words(tried: Trial, words: str) -> None:
    assert trial_words(tried, None) == words
    assert Cause(1, (EDIT,), trials=(tried,)).lines[0].endswith(f", it {words}")


@pytest.mark.parametrize(
    ("checked", "broke", "words"),
    [
        (0, "", "no solved task was tried"),
        (1, "", "broke 0 of 1 solved task"),
        (5, "xy", "broke 2 of 5 solved tasks"),
    ],
)
def test_a_trial_states_on_how_many_solved_tasks_it_was(
    checked: int, broke: str, words: str
) -> None:
    said = trial_words(trial("a", "a", broke), checked)
    assert said.startswith(f"solved 1 of 1 task it was written for, {words} (solved a")


def view_of(outcome: EditOutcome, checked: int = 0) -> RunView:
    made = list[ev.RunEvent]()
    for fact in [*opening(), *accepted_step(1)]:
        if isinstance(fact, ev.CandidateMade):
            made += [ev.PassingChecked(1, checked, (), (), ())] if checked else []
            fact = replace(fact, outcomes=(outcome,))
        made.append(fact)
    return fold(stamp(made))


@pytest.mark.parametrize("checked", [0, 5])
@pytest.mark.parametrize("state", ["applied", "over_budget", "harmful", "unmatched"])
def test_every_tried_edit_shows_its_tasks_whatever_became_of_it(
    state: EditState, checked: int
) -> None:
    outcome = EditOutcome(EDIT, state, "", trial("ab", "b"))
    (step,) = view_of(outcome, checked).steps
    # What is above the learning rate is in no text that is tried on solved tasks.
    tried = checked and state != "over_budget"
    broke = "broke 0 of 5 solved tasks" if tried else "no solved task was tried"
    said = f"it solved 1 of 2 tasks it was written for, {broke} (solved b; not a)"
    assert f", {said}\n" in as_markdown(step_blocks(step)).replace("\\", "")
    whole = as_markdown(edits_in_full(step)).replace("\\", "")
    assert f"- evidence: 3 of 4 answers were sentences\n- tried before the gate: {said}\n" in whole


def test_an_edit_that_failed_verification_names_its_tasks_beside_its_numbers() -> None:
    for tried, named in (
        (trial("abc", "b", needed=2), "solved b; not a, c"),
        (trial(), "no task"),
    ):
        outcome = unverified(tried)
        (step,) = view_of(outcome).steps
        shown = as_markdown(step_blocks(step)).replace("\\", "")
        (line,) = (line for line in shown.splitlines() if "failed verification" in line)
        assert outcome.reason in line and line.endswith(f", tried: {named}")


def test_an_edit_that_was_not_tried_shows_no_trial() -> None:
    (step,) = view_of(EditOutcome(EDIT, "applied")).steps
    for blocks in (step_blocks(step), edits_in_full(step)):
        assert "tried" not in as_markdown(blocks)


def test_the_page_and_the_document_have_the_trial() -> None:
    view = view_of(EditOutcome(EDIT, "applied", "", trial("ab", "b")))
    page = as_html(run_report(Subject("a", view), illustrated=True))
    said = "solved 1 of 2 tasks it was written for, no solved task was tried (solved b; not a)"
    assert said in page
    (run,) = report_document([Subject("a", view)])["runs"]
    (edit,) = json.loads(json.dumps(run["steps"][0]["edits"]))
    assert edit["trial"]["tried"] == ["a", "b"]
    assert edit["trial"]["fixed"] == ["b"]
    assert edit["evidence"] == EDIT.evidence
