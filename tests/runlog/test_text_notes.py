"""Appendix notes on every display, and nowhere when there are none."""

from __future__ import annotations

from dataclasses import replace

from facts import accepted_step, opening, stamp

from skillopt_cli.core import events as ev
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.reports.run.document import report_document
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.text.step import appendix_words, note_lines
from skillopt_cli.runlog.view import RunView
from skillopt_cli.ui.plain import lines_of

WRITTEN = ev.AppendixWritten(1, 3, ("Be short.", "Be\nexact."), 4)


def run_with(*facts: ev.RunEvent) -> RunView:
    step = accepted_step(1)
    at = next(i for i, fact in enumerate(step) if isinstance(fact, ev.CandidateMade))
    return fold(stamp([*opening(), *step[:at], *facts, *step[at:]]))


def test_words_count_and_lines_quote() -> None:
    assert appendix_words(WRITTEN) == "Appendix: 2 notes added, 4 in all"
    assert appendix_words(replace(WRITTEN, consolidated=6)).endswith("4 in all, shortened from 6")
    assert note_lines(WRITTEN) == ("note: Be short.", "note: Be exact.")


def test_plain_lines_tell_of_them() -> None:
    before = run_with()
    [fact] = stamp([WRITTEN])
    assert lines_of(before, before, fact) == (
        f"[Step 1/{before.total_steps}] Appendix: 2 notes added, 4 in all",
    )


def test_the_report_quotes_them() -> None:
    text = as_markdown(run_report(Subject("a", run_with(WRITTEN))))
    for line in (appendix_words(WRITTEN), *note_lines(WRITTEN)):
        assert line in text
    [step] = report_document([Subject("a", run_with(WRITTEN))])["runs"][0]["steps"]
    assert step["appendix_notes"] == list(WRITTEN.added)
    assert step["n_appendix_notes_total"] == 4


def test_without_notes_nothing_is_said() -> None:
    assert "Appendix" not in as_markdown(run_report(Subject("a", run_with())))
    [step] = report_document([Subject("a", run_with())])["runs"][0]["steps"]
    assert (step["appendix_notes"], step["n_appendix_notes_total"]) == ([], None)


def test_a_step_without_an_effect_says_that_something_was_proposed() -> None:
    facts = [ev.EditsChosen(1, (), ()), ev.StepSkipped(1, "no edit changed the skill")]
    assert fold(stamp([*opening(), *facts])).steps[0].action == "skip_no_patches"
    proposed = ev.PatchesProposed(1, 1, 1, 0, 0)  # notes come with a patch, which needs no edit
    noted = fold(stamp([*opening(), proposed, facts[0], WRITTEN, facts[1]])).steps[0]
    assert noted.action == "skip_no_op"
