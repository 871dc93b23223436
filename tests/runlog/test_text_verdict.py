"""The verdict in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from facts import VERDICT, accepted_step, opening, stamp

from skillopt_cli.core import events as ev
from skillopt_cli.core.majority_baseline import MajorityBaseline
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.reports.run.document import report_document
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.text.verdict import (
    chance_words,
    majority_lines,
    verdict_document,
    verdict_sentence,
)
from skillopt_cli.ui.plain import lines_of

MAJORITY = MajorityBaseline("billing", 0.2, 100, 100, 50)
CONSTANT = 'Majority baseline: always answering "billing" scores 0.20 on the 100 test tasks'


def test_an_improvement_in_words() -> None:
    assert verdict_sentence(replace(VERDICT, p_value=0.004)) == (
        "The trained skill is better than the seed: 0.79 against 0.60 on 100 test tasks"
        " (21 fixed, 2 broken; chance alone explains such a gain in 1 of 250 cases)."
    )
    assert verdict_document(VERDICT)["sentence"] == verdict_sentence(VERDICT)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"word": "worse"}, "is worse than the seed"),
        ({"word": "unproven", "p_value": 0.4}, "A gain of 0.12 or more would most likely have"),
        ({"word": "underpowered", "detectable": None}, "So few tasks hardly show any gain"),
        ({"word": "underpowered", "n": 60}, "Only 60 of 100 tasks have both scores."),
        ({"word": "unproven", "identical": True}, "is the seed skill, unchanged"),
        ({"word": "underpowered", "best": None, "n": 0}, "none of 100 test tasks has both"),
    ],
)
def test_each_other_verdict_is_one_of_its_own(changes: dict[str, object], words: str) -> None:
    assert words in verdict_sentence(replace(VERDICT, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("p_value", "words"),
    [
        (1.0, "more than half of all cases"),
        (0.5, "1 of 2 cases"),
        (0.031, "1 of 32 cases"),
        (0.00003, "1 of 33,000 cases"),
        (1e-12, "less than 1 of 1,000,000 cases"),
        (0.0, "less than 1 of 1,000,000 cases"),
    ],
)
def test_a_chance_in_words(p_value: float, words: str) -> None:
    assert chance_words(p_value) == words


@pytest.mark.parametrize(
    ("best", "identical", "more"),
    [
        (0.36, False, ""),
        (0.2, False, ", and the trained skill scores no more"),
        (0.1, False, ", and the trained skill scores no more"),
        (0.1, True, ""),
        (None, False, ""),
    ],
)
def test_the_commonest_answer_is_beside_the_verdict(
    best: float | None, identical: bool, more: str
) -> None:
    verdict = replace(VERDICT, best=best, identical=identical)
    assert majority_lines(verdict, MAJORITY) == (f"{CONSTANT}{more}.",)


def test_a_seed_that_names_no_label_in_most_answers_is_noted() -> None:
    _, note = majority_lines(VERDICT, replace(MAJORITY, seed_unlabelled=51))
    assert note == (
        "The seed names no known label in 51 of 100 answers, so a gain over it may come from the"
        " form of the answers alone."
    )
    unattempted = replace(MAJORITY, seed_answers=0, seed_unlabelled=0)
    assert len(majority_lines(VERDICT, unattempted)) == 1


def test_without_labels_or_a_verdict_there_is_no_majority_baseline() -> None:
    assert majority_lines(VERDICT, None) == majority_lines(None, MAJORITY) == ()


def test_every_display_of_the_verdict_has_the_majority_baseline() -> None:
    fact = ev.VerdictReached(VERDICT, replace(MAJORITY, seed_unlabelled=100))
    *_, stamped = facts = stamp([*opening(), *accepted_step(1), fact])
    view = fold(facts)
    sentences = majority_lines(VERDICT, fact.majority)
    assert len(sentences) == 2
    assert lines_of(view, view, stamped)[1:] == sentences
    subject = Subject("a", view)
    report = as_markdown(run_report(subject))
    (run,) = report_document([subject])["runs"]
    for sentence in sentences:
        assert sentence in report.replace("\\", "")
    assert run["summary"]["majority_baseline"]["sentences"] == list(sentences)
    assert run["summary"]["majority_baseline"]["score"] == 0.2
