"""Summary and gate report: numbers with what they rest on, and reasons when nothing changed."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from facts import (
    VERDICT,
    accepted_step,
    attempts,
    barren_run,
    begun,
    closing,
    epoch_end,
    limited,
    opening,
    proposing,
    rejected_step,
    saved,
    skipped_step,
    stamp,
    states,
    whole_run,
)
from rich.console import Console
from snapshots import assert_golden

from skillopt_cli.charts.score_curve import scored
from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import SUGGEST, Edit, EditOutcome
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.task import Usage
from skillopt_cli.reports.page import Rows, as_markdown
from skillopt_cli.reports.run.comparison import side_by_side
from skillopt_cli.reports.run.document import report_document
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import RunDifferences, Subject
from skillopt_cli.reports.terminal import as_rich
from skillopt_cli.runlog.expectation import measured_in_full
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import history
from skillopt_cli.runlog.manifest_diff import Difference
from skillopt_cli.runlog.summary import summary
from skillopt_cli.runlog.text.action import action_words
from skillopt_cli.runlog.text.ending import test_line as result_line
from skillopt_cli.runlog.text.epoch import guidance_fate, slow_words
from skillopt_cli.runlog.text.run_list import run_row, selection_cell
from skillopt_cli.runlog.text.run_list import test_cell as result_cell


def drawn(part: Any, width: int = 100) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None, force_terminal=True).print(part)
    return stream.getvalue()


def reported(facts: list[ev.RunEvent], label: str = "a") -> Subject:
    return Subject(label, fold(stamp(facts)))


def told(facts: list[ev.RunEvent], width: int = 100) -> str:
    return drawn(as_rich(run_report(reported(facts))), width)


def beside(*runs: list[ev.RunEvent]) -> str:
    return drawn(as_rich(side_by_side([reported(facts, str(i)) for i, facts in enumerate(runs)])))


def summed(facts: list[ev.RunEvent]) -> dict[str, Any]:
    return summary(stamp(facts))


def test_golden_summary() -> None:
    assert_golden("summary.json", json.dumps(summed(whole_run()), indent=2) + "\n")


def test_scores_come_with_what_they_rest_on() -> None:
    numbers = summed(whole_run())
    assert numbers["best_selection_hard"] == 0.8
    assert numbers["best_selection_soft"] == 0.82
    assert numbers["best_selection_coverage"] == 1.0
    assert numbers["best_selection_digest"] == "digest-1"
    assert numbers["baseline_selection_digest"] == "digest-0"
    assert numbers["test_delta_hard"] == 0.79 - 0.6


def test_unknown_is_none_and_keys_never_change() -> None:
    nothing, whole = summed([]), summed(whole_run())
    assert list(nothing) == list(whole)
    assert nothing["baseline_selection_hard"] is None
    assert nothing["test_delta_hard"] is None
    assert nothing["token_summary"]["_total"]["prompt_tokens"] is None
    json.dumps(nothing, allow_nan=False)


def test_a_score_of_zero_is_a_score() -> None:
    zero = [
        begun(),
        ev.BaselineMeasured(0.0, 0.0, 0.0, 20, 20),
        ev.CheckpointSaved(0, 0.0, 0.0, 0, 0, 1),
        ev.TestMeasured("seed", "a", 0.0, 0.0, 9, 10),
        ev.TestMeasured("best", "a", 0.0, 0.0, 9, 10),
        ev.RunFinished(0, 0, 0.0, 0),
    ]
    numbers = summed(zero)
    assert numbers["baseline_selection_hard"] == 0.0
    assert numbers["test_delta_hard"] == 0.0
    assert numbers["test_coverage"] == 0.9
    assert "+0.00" in told(zero)


def test_status_words() -> None:
    def status(*facts: ev.RunEvent) -> object:
        return summed([begun(), *facts])["status"]

    def failed(code: int) -> ev.RunFailed:
        return ev.RunFailed("E", "m", "h", code, True)

    assert status() == "running"
    assert status(ev.RunFinished(3, 0, 0.1, 0)) == "finished"
    assert status(ev.StoppedEarly("enough"), ev.RunFinished(1, 0, 0.1, 0)) == "stopped_early"
    assert status(failed(5)) == "budget"
    assert status(failed(130)) == "interrupted"
    assert status(failed(4)) == "failed"


def test_a_run_that_failed_before_its_baseline_has_a_cause_and_no_best_score() -> None:
    shown = told([begun(), ev.RunFailed("AuthFailed", "the key was refused", "h", 4, True)])
    broken_off = "Failed before the first of 3 steps. No score was measured."
    assert f"{broken_off}\nCause: the key was refused\nhint: h\n" in shown
    assert "To go on: `skillopt resume 2026-01-31_10-30-00`\n" in shown
    assert "overestimates" not in shown
    assert "overestimates" not in told(opening())
    assert "overestimates" in told([*opening(), *accepted_step(1)])
    assert "Cause" not in told(whole_run())


def test_the_cost_of_a_step_is_the_mean_of_those_that_were_decided() -> None:
    cut = next(i for i, fact in enumerate(skipped_step(3)) if isinstance(fact, ev.BatchScored))
    begun_third = [*opening(), *accepted_step(1), *rejected_step(2), *skipped_step(3)[:cut]]
    whole = [*opening(), *accepted_step(1), *rejected_step(2)]
    assert "the mean of 2" in told(begun_third)
    (mean,) = re.findall(r"a step: .*", told(whole, 200))
    assert mean in told(begun_third, 200)
    assert "a step: " not in told([*opening(), *skipped_step(1)[:cut]])


def test_why_nothing_changed() -> None:
    reasons = summed(barren_run())["why_no_change"]
    assert reasons["steps"] == {
        "not better (settled early)": 1,
        "tied": 1,
        "too few scored attempts to compare": 1,
    }
    assert reasons["edits"] == {"unmatched": 3, "over_budget": 3}
    assert reasons["sentence"].startswith("no candidate was accepted in 3 steps: ")
    assert summed(whole_run())["why_no_change"] is None
    assert summed(barren_run()[:-1])["why_no_change"] is None


def test_why_nothing_changed_without_a_step() -> None:
    stop = ev.StoppedEarly("the current skill solves every selection task")
    reasons = summed([*opening(), stop, ev.RunFinished(0, 0, 1.0, 0)])["why_no_change"]
    assert reasons["sentence"] == (
        "no step was taken; stopped early: the current skill solves every selection task"
    )


def test_rejections_are_counted_by_kind() -> None:
    worse = GateDecision("reject", "hard", 0.3, 0.65, 0.65, 20, 20)
    facts = [
        *opening(),
        *proposing(1),
        ev.GateDecided(1, worse, 0.3, 0.3),
        *proposing(2),
        ev.StepSkipped(2, "no edit changed the skill"),
        ev.StepStarted(3, 1, 3, 2, 2.0, 8, "cosine"),
        ev.EditsChosen(3, (), ()),
        ev.StepSkipped(3, "no edit changed the skill"),
        ev.RunFinished(3, 0, 0.65, 0),
    ]
    numbers = summed(facts)
    assert numbers["why_no_change"]["steps"] == {
        "worse": 1,
        "no edit changed the skill": 1,
        "no edit was proposed": 1,
    }
    assert (numbers["total_rejects"], numbers["total_skips"]) == (1, 2)


def test_epochs_are_told_apart() -> None:
    second = ev.StepStarted(2, 2, 1, 4, 4.0, 8, "cosine")
    facts = [*opening(), *accepted_step(1), second, ev.StepSkipped(2, "none")]
    first, other = summed(facts)["epoch_stats"]
    assert (first["steps"], first["accepts"], first["best_score_at_epoch_end"]) == ([1], 1, 0.8)
    assert (other["steps"], other["skips"], other["current_score_at_epoch_end"]) == ([2], 1, 0.8)


def test_an_evaluation_keeps_its_label() -> None:
    facts = [begun(total_steps=0), ev.TestMeasured("eval", "d", 0.5, 0.6, 10, 10)]
    numbers = summed(facts)
    assert (numbers["eval_hard"], numbers["eval_n"]) == (0.5, 10)
    assert numbers["why_no_change"] is None


def test_a_list_of_runs_shows_a_best_score_once_a_step_is_recorded() -> None:
    def cell(*facts: ev.RunEvent) -> str:
        return selection_cell(run_row(Path("outputs/searchqa/e"), fold(stamp(facts))))

    stopped = ev.RunFailed("Interrupted", "stopped by the user", "", 130, True)
    assert cell(begun()) == cell(begun(), stopped) == "-"
    assert cell(*opening()) == cell(*opening(), stopped) == "0.65 -> - (n=20)"
    assert cell(*opening(), *accepted_step(1), stopped) == "0.65 -> 0.80 (n=20)"
    solved = ev.StoppedEarly("every train task was solved")
    assert cell(*opening(), solved, ev.RunFinished(0, 0, 0.65, 0)) == "0.65 -> 0.65 (n=20)"


@pytest.mark.parametrize(("label", "split"), [("eval", "test"), ("selection", "selection")])
def test_an_evaluation_names_the_split_it_measured(label: str, split: str) -> None:
    facts = [begun(total_steps=0, epochs=0), ev.TestMeasured(label, "d", 0.17, 0.6, 10, 10)]
    view = fold(stamp(facts))
    assert result_line(view) == f"Score: {split} 0.17 (n=10)"
    assert result_cell(run_row(Path("outputs/searchqa/e"), view)) == f"{split}: 0.17 (n=10)"


@pytest.mark.parametrize(
    ("label", "split"),
    [
        ("eval", "test"),
        ("seed", "test"),
        ("my_arm", "test"),
        ("all", "all"),
        ("seed_train", "train"),
        ("before_selection", "selection"),
    ],
)
def test_every_result_of_an_evaluation_is_listed_with_its_split(label: str, split: str) -> None:
    facts = [begun(total_steps=0, epochs=0), ev.TestMeasured(label, "d", 0.17, 0.6, 10, 10)]
    (row,) = run_row(Path("outputs/searchqa/e"), fold(stamp(facts)))["evaluated"]
    assert (row["label"], row["split"]) == (label, split)


@pytest.mark.parametrize(
    ("labels", "best", "n"),
    [
        (["eval"], "0.17", "10"),
        (["seed", "best"], "0.17 (seed)", "10"),
        (["selection"], "-", "-"),
        (["seed_selection", "best_selection"], "-", "-"),
    ],
)
def test_only_test_scores_are_in_the_test_columns_of_a_comparison(
    labels: list[str], best: str, n: str
) -> None:
    tests = [ev.TestMeasured(label, "d", 0.17, 0.6, 10, 10) for label in labels]
    other = reported([begun(total_steps=0, epochs=0), *tests], "b")
    cells = compared_row(other)
    assert (cells["baseline"], cells["best"]) == ("-", "-")
    assert (cells["test best"], cells["test n"]) == (best, n)


def test_a_pruning_in_a_comparison_has_its_selection_scores_as_such() -> None:
    pruned = ev.SkillPruned("a", "b", 0.5, 0.6, 100, 80, ())
    tests = [
        ev.TestMeasured(f"{name}_selection", "d", value, value, 10, 10)
        for name, value in (("before", 0.5), ("pruned", 0.6))
    ]
    cells = compared_row(reported([begun(total_steps=0, epochs=0), pruned, *tests], "b"))
    assert (cells["baseline"], cells["best"], cells["test best"]) == ("0.50", "0.60", "-")


def test_a_comparison_has_the_verdict_of_each_run_that_has_one() -> None:
    decided = reported([*whole_run(), ev.VerdictReached(VERDICT)], "a")
    page = as_markdown(side_by_side([decided, reported(barren_run(), "b")]))
    assert "a: The trained skill is better than the seed: 0.79 against 0.60" in page
    assert "b: The trained" not in page


def compared_row(run: Subject) -> dict[str, str]:
    """The cells of a run beside another one, by title; `test n` is the number of test tasks."""
    page = side_by_side([reported(whole_run()), run])
    table = next(block for block in page if isinstance(block, Rows))
    titles = list(table.titles)
    titles[len(titles) - 1 - titles[::-1].index("n")] = "test n"
    return dict(zip(titles, table.rows[1], strict=True))


def test_a_run_that_tested_its_seed_alone_is_listed_with_its_reach() -> None:
    facts = [*opening(), *closing()[:3], *accepted_step(1)]
    row = run_row(Path("outputs/searchqa/a"), fold(stamp(facts)))
    assert result_cell(row) == "0.60 -> unknown (n=100)"


def golden_runs() -> list[Subject]:
    ended = [*opening(), *accepted_step(1), *rejected_step(2), *skipped_step(3)]
    with_epoch = [*ended[:-1], *epoch_end(3, 2), ended[-1], *closing()]
    return [reported(with_epoch, "a"), reported(barren_run(), "b")]


DIFFERENCES = RunDifferences((
    Difference("train.seed", (1, 2)),
    Difference("model.target.name", ("x|y", None)),
))


def test_changed_conditions_are_named_in_the_words_of_the_page() -> None:
    assert "Continued although this had changed: train.seed: 42 -> 43" in told(states()["resumed"])


def test_golden_reports() -> None:
    whole, barren = golden_runs()
    pages = [run_report(whole), run_report(barren), side_by_side([whole, barren], DIFFERENCES)]
    assert_golden("report.txt", "\n".join(drawn(as_rich(page)) for page in pages))


def test_golden_markdown() -> None:
    whole, barren = golden_runs()
    pages = [run_report(whole), side_by_side([whole, barren], DIFFERENCES)]
    assert_golden("report.md", "\n".join(map(as_markdown, pages)))


def test_the_report_as_a_document() -> None:
    document = report_document([reported(whole_run())])
    json.dumps(document, allow_nan=False)
    (run,) = document["runs"]
    first, second, third = run["steps"]
    assert first["fixed"] == ["t14", "t15", "t16", "t17"]
    assert (first["candidate_gate_score"], first["early_rejected"]) == (0.8, False)
    assert (second["candidate_gate_score"], second["early_rejected"]) == (0.75, True)
    assert (second["rollouts_saved"], run["rollouts_saved"]) == (14, 14)
    assert [edit["state"] for edit in first["edits"]] == [
        "applied",
        "applied",
        "unmatched",
        "over_budget",
    ]
    assert third["action"] == "skip_no_patches"
    assert third["degraded"] == ["reflect: no answer: the service failed"]
    assert (third["broken_attempts"], third["skill_len"]) == (1, 160)
    assert run["summary"] == summed(whole_run())
    assert "overestimates" in run["best_gate_score_note"]


def test_the_same_numbers_as_in_the_history_and_the_summary() -> None:
    """The walk over all numbers, for facts of every kind; with real runs it is in tests/cli."""
    for whole in golden_runs():
        facts = stamp(whole_run() if whole.label == "a" else barren_run())
        run = report_document([Subject(whole.label, fold(facts))])["runs"][0]
        for step, record in zip(run["steps"], history(fold(facts)), strict=True):
            for key in (step.keys() & record.keys()) - {"tokens"}:
                assert step[key] == record[key], key


def test_notes_of_a_step() -> None:
    written = ev.AppendixWritten(2, 3, ("Be\nshort.",), 4, consolidated=6)
    facts = [*opening(), *accepted_step(1), *proposing(2), written, *rejected_step(2)[-2:]]
    text = told(facts)
    assert "  Appendix: 1 note added, 4 in all, shortened from 6\n  note: Be short.\n" in text
    step = report_document([reported(facts)])["runs"][0]["steps"][1]
    record = history(fold(stamp(facts)))[1]
    assert step["appendix_notes"] == ["Be\nshort."]
    for key in record:
        if "notes" in key:
            assert step[key] == record[key]


def test_a_rewrite_and_a_rate_set_by_the_optimizer() -> None:
    chosen = ev.LearningRateChosen(1, 1, 1, 3, clamped=False, reasoning="few\ngood edits")
    wish = Edit(SUGGEST, "Be brief.", "Brevity", 2)
    made = ev.CandidateMade(1, "d", 9, (EditOutcome(wish, "applied"),), ("shorter",))
    facts = [*opening(), *proposing(1), chosen, made, *accepted_step(1)[-2:]]
    text = told(facts)
    assert "  learning rate: 1 of 3 edits, chosen by the optimizer: few good edits\n" in text
    assert text.count("learning rate") == 1
    assert "  rewritten: shorter\n" in text
    step = report_document([reported(facts)])["runs"][0]["steps"][0]
    record = history(fold(stamp(facts)))[0]
    assert step["lr_decision"] == record["lr_decision"]
    assert step["edit_budget"] == record["edit_budget"] == 1
    assert step["rewrite_change_summary"] == ["shorter"]
    refused = ev.CandidateMade(1, "d", 9, (), refused="the text was cut in its middle")
    text = told([*opening(), *proposing(1), refused, ev.StepSkipped(1, "refused")])
    assert "  refused: the text was cut in its middle\n" in text


def test_spend_of_a_step_by_role_where_unknown_stays_unknown() -> None:
    (run,) = report_document([reported(whole_run())])["runs"]
    spend = run["steps"][0]["spend"]
    assert spend["target"]["calls"] == 24
    assert (spend["target"]["prompt_tokens"], spend["target"]["silent_calls"]) == (2400, 0)
    assert spend["optimizer"] == {
        "calls": 1,
        "prompt_tokens": None,
        "completion_tokens": None,
        "cached_tokens": None,
        "reasoning_tokens": None,
        "total_tokens": None,
        "usd": None,
        "failed_tries": 0,
        "silent_calls": 1,
        "unpriced_calls": 1,
    }
    calls = [step["spend"]["target"]["calls"] for step in run["steps"]]
    outside = run["spend_outside_steps"]["target"]["calls"]
    assert sum(calls) + outside == run["summary"]["token_summary_by_role"]["target"]["calls"]
    spent = "target 24 calls, 2,520 tokens, $0.012; optimizer 1 call, tokens unknown, price unknown"
    assert f"spent: {spent}" in told(whole_run())


def test_a_step_that_was_begun_anew_counts_what_was_paid_before() -> None:
    torn = [*opening(), *proposing(1), begun(0), *accepted_step(1)]
    (step,) = report_document([reported(torn)])["runs"][0]["steps"]
    assert step["spend"]["target"]["calls"] == 4 + 24


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (6, "14 attempts saved"),
        (7, "1 attempt more under way by then, 13 saved"),
        (20, "14 attempts more under way by then, 0 saved"),
    ],
)
def test_attempts_under_way_are_neither_needed_nor_saved(made: int, words: str) -> None:
    rejected = rejected_step(2)
    begins = rejected.index(ev.StageStarted(2, "measure", 20, 4))
    ends = rejected.index(ev.StageFinished(2, "measure"))
    rejected[begins + 1 : ends] = attempts(2, "measure", made, wins=1)
    subject = reported([*opening(), *accepted_step(1), *rejected])
    assert f"- {words}" in as_markdown(run_report(subject))
    (run,) = report_document([subject])["runs"]
    counts = run["early_rejection"]
    assert (counts["rollouts_under_way"], counts["rollouts_saved"]) == (made - 6, 20 - made)
    assert run["steps"][1]["rollouts_saved"] == 20 - made
    assert [r.attempts for r in measured_in_full(subject.view)] == [20, 20]


def test_the_end_of_an_epoch_leaves_its_last_step_as_it_was() -> None:
    """It measures once more under the number of that step."""
    rejected = [*opening(), *accepted_step(1), *rejected_step(2)]
    measured = [
        ev.StageStarted(2, "measure", 20, 4),
        *attempts(2, "measure", 9, wins=1, broken=1),
        ev.StageFinished(2, "measure"),
    ]
    decision = GateDecision("reject", "hard", 0.75, 0.8, 0.8, 8, 20, early=True)
    told_end = [
        ev.EpochCompared(2, 2, (("improved", 1),), 1, 0),
        *measured,
        ev.SlowUpdateDecided(2, 2, "reject", "- guidance", decision),
    ]
    (run,) = report_document([reported([*rejected[:-1], *told_end, rejected[-1]])])["runs"]
    assert run["steps"][1]["rollouts_saved"] == 14
    assert run["epochs"][0]["rollouts_saved"] == 11
    assert run["early_rejection"]["measurements"] == 3
    assert run["early_rejection"]["attempts"] == 20 + 6 + 9
    assert run["early_rejection"]["attempts_without"] == 20 + 20 + 20
    assert run["steps"][1]["broken_attempts"] == run["summary"]["broken"]["total"] == 1


def test_guidance_that_was_injected_is_a_change() -> None:
    facts = [*opening(), *rejected_step(1), *epoch_end(1, 2), ev.RunFinished(1, 1, 0.8, 0)]
    assert summed(facts)["why_no_change"] is None


def test_tests_gain_what_the_gate_compared() -> None:
    tests = [
        ev.TestMeasured("seed", "d0", 0.0, 0.25, 20, 20),
        ev.TestMeasured("best", "d1", 0.0, 0.75, 20, 20),
    ]
    soft = [begun(metric="soft"), *opening()[1:], *tests, ev.RunFinished(0, 0, 0.7, 0)]
    assert "+0.00         +0.50" in told(soft)
    hard = [opening()[0], *soft[1:]]
    assert "0.75 (+0.50)" in beside(soft, soft)
    mixed = beside(soft, hard)
    assert "(+0.00)" in mixed
    assert "metric" in mixed and "(hard)" in mixed
    assert "metric" not in beside(soft, soft)


def test_an_evaluation_gets_a_short_report() -> None:
    facts = [
        begun(total_steps=0, epochs=0, limits=None),
        *attempts(0, "test", 10, wins=5, label="eval"),
        ev.TestMeasured("eval", "d", 0.5, 0.6, 10, 10),
        ev.RunFinished(0, 0, 0.5, 0),
    ]
    text = told(facts)
    assert [line.rstrip() for line in text.splitlines()] == [
        "searchqa 2026-01-31_10-30-00  evaluation",
        "target tiny-model, metric hard, data bundled sample",
        "",
        "measured  hard  soft  tasks",
        "test      0.50  0.60  n=10",
        "",
        "Ending  finished",
        "  10 rollouts made, 0 saved, in 22s",
        "  Spent: target 10 calls, 1,050 tokens, $0.005, prompt 60 % cached",
    ]
    (run,) = report_document([reported(facts)])["runs"]
    assert (run["kind"], run["steps"], run["best_gate_score_note"]) == ("evaluation", [], None)


def test_runs_that_differ_in_nothing_say_so() -> None:
    runs = [reported(whole_run(), label) for label in ("a", "b")]
    assert "nothing that can alter a text or a score" in drawn(as_rich(side_by_side(runs)))
    assert report_document(runs)["differences"] == {}
    found = report_document(runs, DIFFERENCES)["differences"]
    assert found["train.seed"] == {"a": 1, "b": 2}


def test_of_digests_it_is_shown_which_runs_have_the_same() -> None:
    runs = [reported(whole_run(), label) for label in ("a", "b", "c")]
    settings = [
        Difference("(prompts rank)", (None, "ff", "ff"), digests=True),
        Difference("(benchmark)", ("toy/1", "toy/1", "toy/2")),
    ]
    shown = as_markdown(side_by_side(runs, RunDifferences(settings)))
    assert "| (prompts rank) | - | its own | that of b |" in shown
    assert "| (benchmark) | toy/1 | toy/1 | toy/2 |" in shown


def test_many_runs_get_a_row_each() -> None:
    labels = [f"sweep-of-rates-{i:08}-seed1" for i in range(12)]
    runs = [reported(whole_run(), label) for label in labels]
    settings = [
        Difference("train.seed", tuple(range(12))),
        Difference("optimizer.learning_rate", (4,) * 12),
    ]
    shown = drawn(as_rich(side_by_side(runs, RunDifferences(settings))), width=130)
    assert max(map(len, shown.splitlines())) <= 130
    tables = shown.split("What differs")
    assert [line.split() for line in tables[1].splitlines() if "00000011" in line] == [
        [labels[11], "11", "4"]
    ]
    accepted = [s for s in runs[0].view.steps if "accept" in (s.action or "")]
    assert accepted
    (line,) = [line for line in tables[0].split("Steps")[1].splitlines() if "00000011" in line]
    assert all(f"{step.number}: {action_words(step.action)}" in line for step in accepted)


def test_a_report_on_every_state_can_be_drawn() -> None:
    for facts in states().values():
        assert told(facts, width=60)
        assert as_markdown(run_report(reported(facts)))
        json.dumps(report_document([reported(facts)]), allow_nan=False)
        assert drawn(as_rich(side_by_side([reported(facts), reported([], "b")])))


def test_markup_in_edits_and_task_ids_is_shown_as_it_is() -> None:
    edit = Edit("append", "[red]x[/red] [/]\x1b[31m")
    decision = GateDecision(
        "new_best", "hard", 0.7, 0.65, 0.65, 20, 20, fixed=("[/]", "a\nb", *map(str, range(20)))
    )
    facts = [
        *opening(),
        ev.CandidateMade(1, "d", 1, (EditOutcome(edit, "applied"),)),
        ev.GateDecided(1, decision, 0.7, 0.7),
    ]
    text = told(facts)
    assert "[red]x[/red] [/]?[31m" in text
    assert "fixed 22: [/], a b, 0" in text
    assert "and 10 more" in text
    assert "\x1b" not in text
    written = as_markdown(run_report(reported(facts)))
    assert "\\[red\\]x\\[/red\\] \\[/\\]?\\[31m" in written
    assert "\x1b" not in written


def test_texts_of_others_cannot_leave_their_fence() -> None:
    slow = ev.SlowUpdateDecided(1, 2, "force_accept", "```\n# a heading\n```", None, 0.8, 0.8)
    facts = [*opening(), *rejected_step(1), slow, ev.RunFinished(1, 0, 0.8, 0)]
    written = as_markdown(run_report(reported(facts)))
    assert "````text\n```\n# a heading\n```\n````\n" in written


def test_limits_and_what_became_of_calls_are_in_the_summary() -> None:
    numbers = summed([begun(), *limited(), ev.CallMade("target", "rollout", Usage(1, 9, 1), 0.01)])
    assert numbers["limits"] == {"workers": 4, "analyst_workers": 16, "max_concurrency": 64}
    assert numbers["caps"] == {
        "max_usd": {"limit": 0.05, "spent": 0.0102},
        "max_calls": {"limit": 1000, "spent": 2},
    }
    assert numbers["pace"] == [
        {
            "provider": "openai_compatible",
            "model": "tiny-model",
            "in_flight": 8,
            "per_minute": 95.0,
            "reason": "rate limited",
        }
    ]
    assert numbers["refused_parameters"] == [
        {"role": "optimizer", "model": "big-model", "parameter": "temperature"}
    ]
    tries = {"total": 2, "by_error": {"EmptyReply": 1, "RateLimited": 1}}
    assert numbers["failed_tries"] == tries
    assert (numbers["usd_total"], numbers["usd_unknown_calls"]) == (0.0102, 0)
    assert numbers["token_summary"]["rollout"]["usd"] == 0.0102


def test_a_spent_budget_is_told_with_the_steps_it_bought() -> None:
    text = told(states()["failed"])
    assert "Ending  budget exhausted after 1 step of 3" in text
    assert summed(states()["failed"])["status"] == "budget"


def priced(usd: float | None, stage: str = "reflect") -> ev.CallMade:
    return ev.CallMade("optimizer", stage, Usage(1, 100, 10), usd)


def cost(facts: list[ev.RunEvent]) -> dict[str, Any]:
    document: dict[str, Any] = report_document([reported(facts)])["runs"][0]["cost"]
    return document


def test_cost_per_point_of_gain_leaves_the_tests_out() -> None:
    step = [fact for fact in accepted_step(1) if not isinstance(fact, ev.CallMade)]
    start = [fact for fact in opening() if not isinstance(fact, ev.CallMade)]
    calls = [*[priced(0.15)] * 5, *[priced(9.0, "test")] * 3]
    found = cost([*start, *step[:-1], *calls, step[-1], ev.RunFinished(1, 1, 0.8, 0)])
    assert found["per_point_of_gain"] == {
        "points": 15.0,
        "calls_per_point": 0.333,
        "tokens_per_point": 36.667,
        "usd_per_point": 0.05,
    }
    assert found["in_steps"]["usd"] == 0.75
    text = told([*start, *step[:-1], *calls, step[-1], ev.RunFinished(1, 1, 0.8, 0)])
    assert "best 0.80 from 0.65): 0.3 calls, 37 tokens, $0.05, tests not counted" in text


def test_no_gain_has_no_price() -> None:
    assert cost(barren_run())["per_point_of_gain"] is None
    assert "a point of val score" not in told(barren_run())


def test_calls_of_unknown_price_are_estimated_by_the_others_of_their_stage() -> None:
    start = [begun(), *[priced(0.2)] * 3]
    assert cost(start)["usd_estimate"] is None
    mixed = cost([*start, priced(None)])
    assert mixed["usd_estimate"] == 0.8
    assert mixed["by_role_and_stage"]["optimizer"]["reflect"]["unpriced_calls"] == 1
    assert cost([*start, priced(None, "merge")])["usd_estimate"] is None
    text = told([*start, priced(None)])
    assert "1 call of unknown price; about $0.80 in all, at the mean price" in text


def test_prices_stand_side_by_side_where_there_are_any() -> None:
    free = [fact for fact in barren_run() if not isinstance(fact, ev.CallMade)]
    pages = [
        drawn(as_rich(side_by_side([reported(first), reported(free, "b")])))
        for first in (free, whole_run())
    ]
    assert ["USD" in page for page in pages] == [False, True]


def decided(action: ev.SlowUpdateAction, decision: GateDecision | None) -> list[ev.RunEvent]:
    """A run whose only step is rejected, and whose first epoch then ends so."""
    leads = decision is not None and decision.leads
    best = decision.candidate if decision and decision.candidate and leads else 0.65
    closed = ev.CheckpointSaved(1, best, best, 1, 1, 160, None, None, 1, 1)
    return [
        *opening(),
        *rejected_step(1, current=0.65, holder=0)[:-1],
        ev.SlowUpdateDecided(1, 1, action, "- keep answers short", decision),
        closed if leads else saved(1, 0.65, 0.65, 0, 0, 120),
    ]


GUIDANCE: dict[ev.SlowUpdateAction, tuple[GateDecision | None, str]] = {
    "inject_placeholder": (None, ""),
    "no_content": (None, "no usable guidance"),
    "accept_new_best": (
        GateDecision("new_best", "hard", 0.75, 0.65, 0.65, 20, 20),
        "guidance accepted, new best 0.75",
    ),
    "accept": (
        GateDecision("accept", "hard", 0.65, 0.65, 0.65, 20, 20, tied=True),
        "guidance accepted 0.65",
    ),
    "reject": (
        GateDecision("reject", "hard", 0.6, 0.65, 0.65, 6, 20, early=True),
        "guidance rejected at most 0.60",
    ),
    "indecisive": (
        GateDecision("indecisive", "hard", None, 0.65, 0.65, 0, 20),
        "guidance indecisive",
    ),
    "force_accept": (
        GateDecision("force_accept", "hard", 0.7, 0.65, 0.65, 20, 20, beats_best=True),
        "guidance accepted by force, new best 0.70",
    ),
}


def test_guidance_that_changes_nothing_is_called_skipped_everywhere() -> None:
    decision = GateDecision("no_op", "hard", 0.65, 0.65, 0.65)
    facts = decided("reject", decision)
    words = "guidance skipped, skill unchanged"
    (fact,) = (f for f in facts if isinstance(f, ev.SlowUpdateDecided))
    assert slow_words(fact) == guidance_fate(fact) == words
    run = reported(facts, "a")
    assert f"Slow update: {words}" in told(facts)
    shown = drawn(as_rich(side_by_side([run, reported(whole_run(), "b")])), 200)
    assert f"end of epoch 1: {words}" in shown
    (guided,) = (mark for mark in scored(run.view) if mark.kind == "guided")
    assert guided.words.endswith("skipped, skill unchanged")


@pytest.mark.parametrize("action", get_args(ev.SlowUpdateAction))
def test_a_comparison_shows_what_became_of_each_epochs_guidance(
    action: ev.SlowUpdateAction,
) -> None:
    decision, words = GUIDANCE[action]
    facts = decided(action, decision)
    two = [reported(facts, "a"), reported(whole_run(), "b")]
    many = [reported(facts, name) for name in "abcde"]
    shown, listed = (drawn(as_rich(side_by_side(runs)), 200) for runs in (two, many))
    assert ("end of epoch 1: " in shown) == bool(words)
    if words:
        assert f"rejected at most 0.60; end of epoch 1: {words} " in shown
    took = action in ("accept_new_best", "accept", "force_accept")
    assert (f"end of epoch 1: {words}" in listed) == took
    row = next(line for line in shown.splitlines() if line.startswith("a "))
    leads = decision is not None and decision.leads
    assert ("end of epoch 1" if leads else "seed") in row
