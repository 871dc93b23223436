"""Summary and gate report: numbers with what they rest on, and reasons when nothing changed."""

from __future__ import annotations

import io
import json
from typing import Any

from facts import accepted_step, barren_run, begun, opening, proposing, stamp, states, whole_run
from rich.console import Console
from snapshots import assert_golden

from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.ui.folding import fold
from skillopt_cli.ui.report import report_document, report_text
from skillopt_cli.ui.summary import summary


def drawn(part: Any, width: int = 100) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None, force_terminal=True).print(part)
    return stream.getvalue()


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
    assert "+0.00" in drawn(report_text([fold(stamp(zero))]))


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


def test_why_nothing_changed() -> None:
    reasons = summed(barren_run())["why_no_change"]
    assert reasons["steps"] == {
        "not better (settled early)": 1,
        "tie": 1,
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


def test_golden_reports() -> None:
    whole, barren = (fold(stamp(states()[name])) for name in ("finished", "barren"))
    parts = [drawn(report_text(views)) for views in ([whole], [barren], [whole, barren])]
    assert_golden("report.txt", "\n".join(parts))


def test_the_report_as_a_document() -> None:
    document = report_document([fold(stamp(whole_run()))])
    json.dumps(document, allow_nan=False)
    (run,) = document["runs"]
    first, second, third = run["steps"]
    assert first["fixed"] == ["t14", "t15", "t16", "t17"]
    assert (first["candidate_score"], first["candidate_bound"]) == (0.8, None)
    assert (second["candidate_score"], second["candidate_bound"]) == (None, 0.75)
    assert (second["early"], second["rollouts_saved"], run["rollouts_saved"]) == (True, 14, 14)
    assert [edit["state"] for edit in first["edits"]] == [
        "applied",
        "applied",
        "unmatched",
        "over_budget",
    ]
    assert third["action"] == "skip_no_patches"
    assert run["summary"] == summed(whole_run())


def test_a_report_on_every_state_can_be_drawn() -> None:
    for facts in states().values():
        view = fold(stamp(facts))
        assert drawn(report_text([view]), width=60)
        json.dumps(report_document([view]), allow_nan=False)


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
    text = drawn(report_text([fold(stamp(facts))]))
    assert "[red]x[/red] [/]?[31m" in text
    assert "fixed 22: [/], a b, 0" in text
    assert "and 10 more" in text
    assert "\x1b" not in text
