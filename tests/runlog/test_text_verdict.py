"""The verdict in words."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, get_args

import pytest
from facts import VERDICT, accepted_step, opening, stamp

from skillopt_cli.core import events as ev
from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.run_verdict import RunVerdict, VerdictRule, VerdictWord, run_verdict
from skillopt_cli.core.score import HARD, Mark
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.reports.run.document import report_document
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.text.standing import standing_words
from skillopt_cli.runlog.text.verdict import (
    chance_words,
    majority_entry,
    majority_lines,
    never_right_words,
    run_sentence,
    unproven_words,
    verdict_document,
    verdict_sentence,
    verdict_title,
)
from skillopt_cli.runlog.verdict import verdict_of
from skillopt_cli.ui.plain import lines_of

VERDICT_WORDS = get_args(VerdictWord)
SMALL = {"gain": 0.05, "low": -0.1, "p_value": 0.4}
MAJORITY = LabelDiagnostics("billing", 0.2, 100, 100, 50)
CONSTANT = 'Majority baseline: always answering "billing" scores 0.20 on the 100 test tasks'


def test_an_improvement_in_words() -> None:
    assert verdict_sentence(replace(VERDICT, p_value=0.004)) == (
        "The trained skill is better than the seed: 0.79 against 0.60 on 100 test tasks"
        " (gain +0.19, 95 % interval +0.10 to +0.28; 21 fixed, 2 broken; chance alone explains"
        " such a gain in 1 of 250 cases)."
    )
    assert verdict_document(VERDICT)["sentence"] == verdict_sentence(VERDICT)


@pytest.mark.parametrize("metric", ["soft", "mixed"])
def test_no_task_is_called_fixed_or_broken_under_graded_scores(metric: Any) -> None:
    sentence = verdict_sentence(replace(VERDICT, metric=metric))
    assert "; 21 higher, 2 lower; " in sentence
    assert "fixed" not in sentence
    assert "broken" not in sentence


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"word": "worse"}, "is worse than the seed"),
        ({"word": "unproven", **SMALL}, "A gain of 0.12 or more would most likely have"),
        (
            {"word": "underpowered", **SMALL, "detectable": None},
            "So few tasks hardly show a true gain",
        ),
        ({"word": "underpowered", "n": 60}, "Only 60 of 100 tasks have both scores."),
        ({"word": "unproven", "identical": True}, "is the seed skill, unchanged"),
        ({"word": "underpowered", "best": None, "n": 0}, "none of 100 test tasks has both"),
    ],
)
def test_each_other_verdict_is_one_of_its_own(changes: dict[str, object], words: str) -> None:
    assert words in verdict_sentence(replace(VERDICT, **changes))  # type: ignore[arg-type]


def verdict_on(fixed: int, broke: int, tied: int) -> RunVerdict:
    arms = [0.0] * fixed + [1.0] * (broke + tied), [1.0] * fixed + [0.0] * broke + [1.0] * tied
    seed, best = ({str(n): Mark(s, s) for n, s in enumerate(arm)} for arm in arms)
    return run_verdict(seed, best, "test", VerdictRule(HARD))


def test_what_is_not_proven_is_explained_by_what_fits_its_gain() -> None:
    seen = set()
    for counts in product(range(7), range(7), range(1, 30, 7)):
        found = verdict_on(*counts)
        if found.word in ("improved", "worse"):
            continue
        why, size = unproven_words(found), abs(found.gain or 0)
        if why.startswith("a gain of "):
            assert size < float(why.split()[3])
        elif why.startswith("so few tasks"):
            assert size <= 0.2
        else:
            assert why.startswith("proven is what chance explains in at most 1 of 20 cases")
        leaves_out_zero = (found.low or 0) > 0 or (found.high or 0) < 0
        assert why.endswith("not the interval, which is approximate") is leaves_out_zero
        seen.add((why.split()[0], leaves_out_zero))
    assert len(seen) == 4


def test_a_large_gain_on_few_tasks_says_why_it_is_not_proven() -> None:
    found = verdict_on(4, 0, 2)
    assert verdict_sentence(found).endswith(
        "chance alone explains such a gain in 1 of 16 cases). Proven is what chance explains in at"
        " most 1 of 20 cases: the exact test decides, not the interval, which is approximate."
    )
    view = fold(stamp([*opening(), *accepted_step(1), ev.VerdictReached(found)]))
    report = as_markdown(run_report(Subject("a", view)))
    assert report.count("exact test decides, not the interval") == 2


def test_wherever_interval_and_test_disagree_one_sentence_says_which_decides() -> None:
    seen = set()
    for counts in [*product(range(8), range(8), range(1, 30, 7)), (62, 43, 30), (43, 62, 30)]:
        found = verdict_on(*counts)
        once = int(found.interval_disagrees)
        assert verdict_sentence(found).count("exact test decides, not the interval") == once
        beside = majority_lines(found, replace(MAJORITY, verdict=found))
        assert beside[0].count("exact test decides, not the interval") == once
        view = fold(stamp([*opening(), *accepted_step(1), ev.VerdictReached(found)]))
        report = as_markdown(run_report(Subject("a", view)))
        assert report.count("exact test decides, not the interval") == 2 * once
        seen.add((found.word, bool(once)))
    assert {("improved", True), ("worse", True), ("unproven", True)} <= seen
    assert {(word, False) for word, _ in seen} == {(word, False) for word in VERDICT_WORDS}


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
    ("changes", "identical", "more"),
    [
        (
            {},
            False,
            ", the trained skill 0.79 (gain +0.19, 95 % interval +0.10 to +0.28; 21 won, 2"
            " lost; chance alone explains such a gain in 1 of 33,000 cases)",
        ),
        (
            {"best": 0.1, "gain": -0.1, "low": -0.2, "high": 0.01, "p_value": 0.2},
            True,
            ", the seed 0.10 (gain -0.10, 95 % interval -0.20 to +0.01; 21 won, 2 lost; chance"
            " alone explains such a loss in 1 of 5 cases)",
        ),
        ({"best": None}, False, ""),
        (None, True, ""),
    ],
)
def test_the_commonest_answer_is_beside_the_verdict(
    changes: dict[str, Any] | None, identical: bool, more: str
) -> None:
    found = None if changes is None else replace(VERDICT, seed=0.2, **changes)
    verdict = replace(VERDICT, identical=identical)
    assert majority_lines(verdict, replace(MAJORITY, verdict=found)) == (f"{CONSTANT}{more}.",)


@pytest.mark.parametrize(
    ("word", "gain", "more"),
    [
        ("improved", 0.1, ""),
        ("unproven", 0.1, ' It is not proven better than always answering "billing".'),
        ("underpowered", 0.0, ' It is not proven better than always answering "billing".'),
        ("underpowered", -0.1, ' It scores lower than always answering "billing".'),
        ("worse", -0.1, ' It is worse than always answering "billing".'),
        (None, 0.0, ""),
    ],
)
@pytest.mark.parametrize("of_seed", ["improved", "unproven", "worse"])
def test_a_best_skill_not_shown_above_the_commonest_answer_has_that_in_its_verdict(
    word: VerdictWord | None, gain: float, more: str, of_seed: VerdictWord
) -> None:
    found = replace(VERDICT, word=word, gain=gain) if word else None
    verdict = replace(VERDICT, word=of_seed)
    fact = ev.VerdictReached(verdict, replace(MAJORITY, verdict=found))
    sentence = f"{verdict_sentence(verdict)}{more}"
    facts = stamp([
        *opening(),
        *accepted_step(1),
        fact,
        ev.RunFinished(1, 1, 0.7, 0),
    ])
    view = fold(facts)
    assert lines_of(view, view, facts[-2]) == (f"Verdict: {standing_words(view)[0]}",)
    assert sentence in as_markdown(run_report(Subject("a", view))).replace("\\", "")
    (run,) = report_document([Subject("a", view)])["runs"]
    assert run["summary"]["verdict"]["sentence"] == sentence
    reached = verdict_of(view)
    assert reached is not None and (reached.word, reached.sentence) == (of_seed, sentence)
    assert reached.majority_word == word
    words, style = standing_words(view)
    assert words.endswith("; not proven better than one answer for all (0.20)") is bool(more)
    assert (style == "bold green") is (of_seed == "improved" and not more)
    titled = ("Better", "good") if not more else ("Better than the seed only", "yellow")
    if of_seed == "improved":
        assert verdict_title(of_seed, fact.majority) == titled
    else:
        assert verdict_title(of_seed, fact.majority) == verdict_title(of_seed, None)


def test_a_seed_that_gives_no_label_in_most_answers_is_noted() -> None:
    _, note = majority_lines(VERDICT, replace(MAJORITY, seed_unlabelled=51))
    assert note == (
        "The seed gives no known label in 51 of 100 answers, so a gain over it may come from the"
        " form of the answers alone."
    )
    unattempted = replace(MAJORITY, seed_answers=0, seed_unlabelled=0)
    assert len(majority_lines(VERDICT, unattempted)) == 1
    unchanged = replace(VERDICT, identical=True)
    assert len(majority_lines(unchanged, replace(MAJORITY, seed_unlabelled=51))) == 1


def test_labels_that_the_best_skill_never_gets_right_are_named() -> None:
    missed = replace(MAJORITY, never_right={"shipping": 2, "technical": 3})
    _, line = majority_lines(VERDICT, missed)
    assert line == "Never right: technical (0 of 3), shipping (0 of 2)."
    many = never_right_words({f"queue {n}": 1 for n in range(10)})
    assert many.endswith("queue 7 (0 of 1) and 2 more labels.")
    assert never_right_words({}) == never_right_words({}, "`b`") == ""
    entry = majority_entry(missed, "test", "`b`")
    assert entry["sentences"][1:] == [
        "Never right with `b`: technical (0 of 3), shipping (0 of 2)."
    ]
    assert len(majority_entry(MAJORITY, "test", "the skill")["sentences"]) == 1


def test_a_tie_of_the_commonest_labels_is_stated() -> None:
    tied = replace(MAJORITY, equally_common=5)
    (line,) = majority_lines(VERDICT, tied)
    assert 'answering "billing" (one of 5 equally common labels) scores' in line
    (line,) = majority_lines(VERDICT, replace(tied, verdict=VERDICT))
    assert "(one of 5 equally common labels, the hardest of them to beat) scores" in line


def test_without_labels_or_a_verdict_there_is_no_majority_baseline() -> None:
    assert majority_lines(VERDICT, None) == majority_lines(None, MAJORITY) == ()


def test_every_display_of_the_verdict_has_the_majority_baseline() -> None:
    majority = replace(MAJORITY, seed_unlabelled=100, never_right={"technical": 3})
    fact = ev.VerdictReached(VERDICT, majority)
    *_, stamped = facts = stamp([*opening(), *accepted_step(1), fact])
    view = fold(facts)
    sentences = majority_lines(VERDICT, fact.majority)
    assert len(sentences) == 3
    # A line of a run is short: its result has the sentences.
    (printed,) = lines_of(view, view, stamped)
    assert printed == f"Verdict: {standing_words(view)[0]}"
    ended = verdict_of(fold([*facts, *stamp([ev.RunFinished(1, 1, 0.7, 0)])]))
    assert ended is not None
    assert ended.sentences == (run_sentence(VERDICT, fact.majority), *sentences)
    subject = Subject("a", view)
    report = as_markdown(run_report(subject))
    (run,) = report_document([subject])["runs"]
    for sentence in sentences:
        assert sentence in report.replace("\\", "")
    assert run["summary"]["majority_baseline"]["sentences"] == list(sentences)
    assert run["summary"]["majority_baseline"]["score"] == 0.2
