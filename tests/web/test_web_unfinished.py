"""The page of a run that broke off: its state comes first, with the way on, and no verdict."""

from __future__ import annotations

import io
import shlex
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from dom import parsed, text_of
from facts import (
    accepted_step,
    attempts,
    barren_run,
    begun,
    opening,
    proposing,
    rejected_step,
    skipped_step,
    stamp,
)
from rich.console import Console
from web_rig import client

from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit
from skillopt_cli.core.run_verdict import RunVerdict
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.remaining import Schedule
from skillopt_cli.runlog.schedule_file import write_schedule
from skillopt_cli.runlog.text.remaining import run_left
from skillopt_cli.store.codec import dump_fact
from skillopt_cli.store.lock import lock_run
from skillopt_cli.ui.progress import progress
from skillopt_cli.web.context import moment

RUN = "/runs/searchqa/broken off"
ENDINGS = {
    "interrupted": ev.RunFailed("Interrupted", "stopped by the user", "", 130, True),
    "failed": ev.RunFailed("AuthFailed", "the key was refused", "check `KEY`", 4, True),
    "budget": ev.RunFailed("BudgetExhausted", "all is used", "raise it", 5, True, "max_usd"),
    "killed": None,
}
TITLES = {"budget": "Budget exhausted", "failed": "Failed", "interrupted": "Stopped"}


def outputs_with(tmp_path: Path, facts: list[ev.RunEvent]) -> Path:
    """An outputs folder with one run that has these facts."""
    run = tmp_path / "outputs/searchqa/broken off"
    run.mkdir(parents=True)
    (run / "config.yaml").write_text("env:\n  name: searchqa\n", encoding="utf-8")
    lines = [dump_fact(fact) for fact in stamp(facts)]
    (run / "events.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return run.parent.parent


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_state_and_the_way_on_come_before_everything_else(tmp_path: Path, ending: str) -> None:
    fact = ENDINGS[ending]
    facts = [*opening(), *accepted_step(1), *proposing(2)[:6], *([fact] if fact else [])]
    outputs = outputs_with(tmp_path, facts)
    with client(outputs) as asking:
        page, steer = (asking.get(f"{RUN}{tab}").text for tab in ("", "/steer"))
    found = parsed(page)
    status = text_of(found.find(".//p[@id='part-status']"))
    title = TITLES.get(ending, "Interrupted")
    assert status.startswith(
        f"{title} after step 1 of 3. Best skill so far: step 1, val score 0.80"
    )
    command = text_of(next(one for one in found.iter("code") if one.get("class") == "command"))
    cap = ["--max-usd", "N"] if ending == "budget" else []
    folder = outputs / "searchqa/broken off"
    assert shlex.split(command) == ["skillopt", "resume", str(folder), *cap]
    # Without a higher cap it would end again at once.
    for shown in (page, steer):
        assert ("Resume the run" in shown) == (ending != "budget")
    assert "Verdict" not in page and "progress" not in page
    if isinstance(fact, ev.RunFailed):
        ended = moment(stamp(facts)[-1].time)
        how = "Failed" if ending == "failed" else "Ended"
        stopped = f"<p>Stopped by the user at {ended}.</p>"
        why = f'<p class="error">{how} at {ended}. Cause: {fact.message}.'
        for shown in (page, steer):
            assert (stopped if ending == "interrupted" else why) in shown
            assert f"{fact.error}:" not in shown


def test_a_run_that_accepted_nothing_is_called_unchanged(tmp_path: Path) -> None:
    *steps, end = barren_run()
    same = RunVerdict("unproven", "test", "hard", None, None, 0, 20, identical=True)
    tests = [ev.TestMeasured(label, "a", 0.65, 0.65, 20, 20) for label in ("seed", "best")]
    with client(outputs_with(tmp_path, [*steps, *tests, ev.VerdictReached(same), end])) as asking:
        cards = next(e for e in parsed(asking.get(RUN).text).iter() if e.get("id") == "part-cards")
    assert "Unchanged: no edit was accepted" in text_of(cards)
    assert "Not proven better" not in text_of(cards) and "→" not in text_of(cards)
    assert text_of(cards).count("the seed, unchanged") == 2


@pytest.mark.parametrize("again", ["failed", "interrupted"])
def test_a_run_that_was_resumed_states_that_it_failed_again(tmp_path: Path, again: str) -> None:
    failed, last = ENDINGS["failed"], ENDINGS[again]
    assert failed and last
    facts = [*opening(), *accepted_step(1), failed, begun(done=1), last]
    with client(outputs_with(tmp_path, facts)) as asking:
        for tab in ("", "/steer"):
            page = asking.get(f"{RUN}{tab}").text
            when = moment(stamp(facts)[-1].time)
            words = f"Failed again, after it was resumed, at {when}. Cause: the key was refused."
            assert (words in page) == (again == "failed")
            assert ("Stopped by the user" in page) == (again == "interrupted")


@pytest.mark.parametrize("ending", ENDINGS)
def test_only_a_run_that_a_person_stopped_is_called_so(tmp_path: Path, ending: str) -> None:
    fact = ENDINGS[ending]
    facts = [*opening(), *accepted_step(1), *([fact] if fact else [])]
    with client(outputs_with(tmp_path, facts)) as asking:
        row = next(r for r in parsed(asking.get("/").text).iter("tr") if "broken off" in text_of(r))
        steer = asking.get(f"{RUN}/steer").text
        found = asking.get("/", params={"status": "stopped"}).text
    stopped = ending == "interrupted"
    assert ("stopped" in text_of(row)) == stopped == ("stopped, 1 of 3 steps" in steer)
    assert ("interrupted" in text_of(row)) == (ending == "killed")
    assert (f'href="/{RUN[1:].replace(" ", "%20")}"' in found) == stopped


@pytest.mark.parametrize("ending", [*ENDINGS, "running"])
def test_before_another_text_is_measured_no_page_compares_the_seed_with_itself(
    tmp_path: Path, ending: str
) -> None:
    fact = ENDINGS.get(ending)
    facts = [*opening(), *proposing(1), *([fact] if fact else [])]
    outputs = outputs_with(tmp_path, facts)
    working = lock_run(outputs / "searchqa/broken off") if ending == "running" else nullcontext()
    with working, client(outputs) as asking:
        page, runs = asking.get(RUN).text, asking.get("/").text
    assert "Verdict" not in page and "No better" not in page and "byte for byte" not in page
    assert "none is measured yet" in page
    assert ("no other text is measured yet" in page) == (ending != "running")
    assert "0.65\u00a0→\u00a0- (n=20)" in runs
    later = [*opening(), *accepted_step(1), *([fact] if fact else [])]
    with client(outputs_with(tmp_path / "later", later)) as asking:
        assert "none is measured yet" not in asking.get(RUN).text


def test_a_simulated_run_on_own_tasks_states_that_it_shows_nothing(tmp_path: Path) -> None:
    note = "on own tasks its scores show nothing"
    for number, (benchmark, target) in enumerate((
        ("folder", "simulated"),
        ("folder", "m"),
        ("searchqa", "simulated"),
    )):
        started = begun(benchmark=benchmark, target=target)
        outputs = outputs_with(tmp_path / str(number), [started, *opening()[1:]])
        with client(outputs) as asking:
            assert (note in asking.get(RUN).text) == (number == 0)
        report = as_markdown(run_report(Subject("a", fold(stamp([started])))))
        assert (note in report) == (number == 0)


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("done", [0, 1, 3])
def test_the_time_left_is_that_of_the_panel(tmp_path: Path, done: int, planned: bool) -> None:
    schedule = Schedule(20, (30, 40, 50), 60) if planned else None
    steps = [accepted_step(1), rejected_step(2), rejected_step(3)][:done]
    facts = [begun(), *(opening()[1:] if done else []), *(f for step in steps for f in step)]
    outputs = outputs_with(tmp_path, facts)
    if schedule:
        write_schedule(outputs / "searchqa/broken off", schedule)
    with lock_run(outputs / "searchqa/broken off"), client(outputs) as asking:
        page = asking.get(RUN).text
    (words,) = {run_left(fold(stamp(facts)), time.time(), schedule)}
    panel = Console(width=200, file=io.StringIO())
    panel.print(progress(fold(stamp(facts)), time.time(), schedule, plain=True))
    stages = [text_of(p) for p in parsed(page).iter("p") if p.get("class") == "stage"]
    assert words in panel.file.getvalue()  # type: ignore[attr-defined]
    shown = [f"steps {done} of 3 steps recorded, {words}"] if words else []
    assert [" ".join(text.split()) for text in stages if text.startswith("steps")] == shown
    assert bool(words) == (planned or done < 3)
    assert "Stop, pause or steer the run" in page
    with client(outputs) as asking:
        page = asking.get(RUN).text
    assert " left" not in page and "Stop, pause" not in page, "no process is at work on it"


@pytest.mark.parametrize("page_of", ["steps/1", "epochs"])
def test_fixed_and_broken_tasks_of_a_decision_are_links(tmp_path: Path, page_of: str) -> None:
    step = accepted_step(1)
    decision = next(fact.decision for fact in step if isinstance(fact, ev.GateDecided))
    guided = ev.SlowUpdateDecided(2, 1, "accept_new_best", "- be short", decision, 0.8, 0.82)
    facts = [*opening(), *step, *rejected_step(2), guided]
    with client(outputs_with(tmp_path, facts)) as asking:
        page = parsed(asking.get(f"{RUN}/{page_of}").text)
        items = {text_of(li).partition(":")[0]: li for li in page.iter("li")}
        for words, tasks in (("fixed 4", ["t14", "t15", "t16", "t17"]), ("broke 1", ["t1"])):
            links = {text_of(a): a.attrib["href"] for a in items[words].iter("a")}
            assert list(links) == tasks
            assert text_of(items[words]) == f"{words}: {', '.join(tasks)}"
            assert all(asking.get(url).status_code == 200 for url in links.values())


@pytest.mark.parametrize(
    ("target", "content", "whole"),
    [
        ("", "- one line\n", False),
        ("", "- two\n- lines <b>\n", True),
        ("a\nb", "c", True),
        ("", "x" * 201, True),
    ],
)
def test_an_edit_of_several_lines_keeps_them_where_it_waits(
    tmp_path: Path, target: str, content: str, whole: bool
) -> None:
    edit = Edit("replace" if target else "append", content, target)
    begins = ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine")
    chosen = [begins, ev.EditsChosen(1, (edit,), ()), ev.RunPaused(1, "edits")]
    outputs = outputs_with(tmp_path, [*opening(), *chosen])
    with lock_run(outputs / "searchqa/broken off"), client(outputs) as asking:
        for path in ("steer", "steps/1"):
            page = parsed(asking.get(f"{RUN}/{path}").text)
            (shown,) = (li for li in page.iter("li") if text_of(li).startswith(("add", "replace")))
            texts = [pre.text for pre in shown.iter("pre")]
            assert texts == ([text for text in (target, content) if text] if whole else [])


def test_rounds_of_verification_show_no_time_left(tmp_path: Path) -> None:
    verifying = [
        ev.StageStarted(1, "verify", 4, 1),
        *attempts(1, "verify", 4, wins=1),
        ev.StageFinished(1, "verify"),
        ev.StageStarted(1, "verify", 4, 1),
        *attempts(1, "verify", 2, wins=1),
    ]
    begins = ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine")
    outputs = outputs_with(tmp_path, [*opening(), begins, *verifying])
    with lock_run(outputs / "searchqa/broken off"), client(outputs) as asking:
        page = asking.get(RUN).text
    stage = [text_of(p) for p in parsed(page).iter("p") if p.get("class") == "stage"][1]
    # No bar, which would run back with each round: the attempts of all rounds are counted on.
    assert "verify 2" in stage and "6 of 8" in stage
    assert page.count("<progress ") == 1
    assert "left" not in stage
    baseline = [ev.StageStarted(0, "measure", 20, 1), *attempts(0, "measure", 2, wins=1)]
    outputs = outputs_with(tmp_path / "b", [begun(), *baseline])
    with lock_run(outputs / "searchqa/broken off"), client(outputs) as asking:
        page = asking.get(RUN).text
    stage = [text_of(p) for p in parsed(page).iter("p") if p.get("class") == "stage"][1]
    assert "2 of 20" in stage and "round" not in stage


def test_an_evaluation_that_cannot_be_resumed_has_no_way_on(tmp_path: Path) -> None:
    fact = replace(ENDINGS["interrupted"] or ev.RunFailed("", "", "", 1, True), resumable=False)
    with client(outputs_with(tmp_path, [begun(total_steps=0), fact])) as asking:
        page = asking.get(RUN).text
        assert "Stopped before its end." in page
        assert "skillopt resume" not in page and "Resume the run" not in page
        assert "Resume the run" not in asking.get(f"{RUN}/steer").text


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("undecided", [False, True])
def test_a_step_that_was_not_recorded_is_counted_nowhere(
    tmp_path: Path, ending: str, undecided: bool
) -> None:
    fact = ENDINGS[ending]
    # Decided or not, its checkpoint is missing.
    second = proposing(2) if undecided else rejected_step(2)[:-1]
    facts = [*opening(), *accepted_step(1), *second, *([fact] if fact else [])]
    with client(outputs_with(tmp_path, facts)) as asking:
        page, steer, step = (asking.get(f"{RUN}{path}").text for path in ("", "/steer", "/steps/2"))
    found = parsed(page)
    rows = {text_of(row): row for row in found.iter("tr")}
    (second_row,) = (text for text in rows if text.startswith("Step 2"))
    (first_row,) = (text for text in rows if text.startswith("Step 1"))
    words = "not recorded; a resume decides it again"
    assert (words in second_row) == (words in step) == (not undecided)
    assert words not in first_row
    chart = next(one for one in found.iter("score-chart")).attrib["aria-label"]
    counted = "" if undecided else ", step 2 not recorded"
    assert chart.startswith(f"Score curve over 1 step{counted}: seed")
    assert " after step 1 of 3. " in page
    assert "1 of 3 steps recorded" in steer and "step 2 of 3" not in steer


def test_a_decided_step_of_a_run_at_work_is_not_recorded_yet(tmp_path: Path) -> None:
    outputs = outputs_with(tmp_path, [*opening(), *accepted_step(1), *rejected_step(2)[:-1]])
    with lock_run(outputs / "searchqa/broken off"), client(outputs) as asking:
        page, step = (asking.get(f"{RUN}{path}").text for path in ("", "/steps/2"))
    found = parsed(page)
    (second,) = (row for row in map(text_of, found.iter("tr")) if row.startswith("Step 2"))
    assert "(not recorded yet)" in second and "(not recorded yet)" in step
    chart = next(one for one in found.iter("score-chart")).attrib["aria-label"]
    assert chart.startswith("Score curve over 1 step, step 2 not recorded yet: seed")
    assert "1 of 3 steps recorded, " in text_of(found)
    assert "running, step 2 of 3" in page


def test_a_seed_that_was_measured_before_the_first_checkpoint_has_its_score(tmp_path: Path) -> None:
    measured = ev.BaselineMeasured(0.25, 0.25, 0.25, 4, 5)
    failed = ENDINGS["failed"]
    assert failed is not None
    with client(outputs_with(tmp_path, [begun(), measured, failed])) as asking:
        page = parsed(asking.get(RUN).text)
    (scores,) = (s for s in page.iter("section") if s.get("id") == "part-scores")
    rows = [[text_of(cell) for cell in row] for row in scores.iter("tr")][1:]
    known = ["0.25", "0.25", "4 of 5"]
    titles = ("seed", "best, the seed skill", "final, the seed skill")
    assert rows == [[title, *known] for title in titles]


def test_a_step_without_a_candidate_has_no_unknown_scores(tmp_path: Path) -> None:
    facts = [*opening(), *accepted_step(1), *skipped_step(2)]
    with client(outputs_with(tmp_path, facts)) as asking:
        page, overview = (parsed(asking.get(f"{RUN}{p}").text) for p in ("/steps/2", ""))
    figures = {text_of(d[0]): text_of(d[1]) for d in page.iter("div") if d.find("dt") is not None}
    assert (figures["score of the candidate"], figures["score to beat"]) == ("-", "-")
    assert "unknown" not in figures.values()
    assert "edits in the candidate" in figures
    assert "in the candidate, of those with an outcome" in text_of(overview)
    assert "bundled sample; used: train 12, selection 20, test 100" in text_of(overview)
