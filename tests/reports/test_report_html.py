"""The report as an HTML file: the same words and numbers, no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from dom import parsed, text_of
from facts import (
    accepted_step,
    attempts,
    barren_run,
    begun,
    closing,
    epoch_end,
    opening,
    proposing,
    saved,
    stamp,
    states,
    whole_run,
)

from skillopt_cli.charts.task_grid import task_grid
from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.reports.page import Heading, Rows
from skillopt_cli.reports.run.comparison import side_by_side
from skillopt_cli.reports.run.html import as_html
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import RunDifferences, Subject
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import history
from skillopt_cli.runlog.manifest_diff import Difference

HOSTILE = (
    "</title></pre></svg></style><script>alert(1)</script><img src=x onerror=alert(1)>"
    "\"' style='x' {{ 7 * 7 }} {% raw %} &lt;b&gt; \x1b[31m \u202e \ud800"
)


def reported(facts: Iterable[ev.RunEvent], label: str = "a") -> Subject:
    return Subject(label, fold(stamp(facts)))


def written(facts: Iterable[ev.RunEvent]) -> str:
    return as_html(run_report(reported(facts), illustrated=True))


def guided() -> list[ev.RunEvent]:
    return [*opening(), *accepted_step(1)[:-1], *epoch_end(1), saved(1, 0.8, 0.8, 1, 1, 200)]


def hostile_run() -> list[ev.RunEvent]:
    edit = Edit("replace", HOSTILE, HOSTILE, source="failure")
    gate = GateDecision("new_best", "hard", 0.8, 0.6, 0.6, 1, 1, fixed=(HOSTILE,), broke=(HOSTILE,))
    return [
        begun(run_id=HOSTILE, benchmark=HOSTILE, data=HOSTILE, target=HOSTILE, optimizer=HOSTILE),
        ev.StageStarted(0, "measure", 1, 1),
        ev.RolloutFinished(0, "measure", HOSTILE, None, None, "broken", False, HOSTILE),
        ev.BaselineMeasured(0.6, 0.6, 0.6, 1, 1),
        *proposing(1)[:-1],
        ev.CandidateMade(1, HOSTILE, 1, (EditOutcome(edit, "invalid", HOSTILE),), (HOSTILE,)),
        ev.GateDecided(1, gate, 0.8, 0.8),
        ev.SlowUpdateDecided(1, 1, "force_accept", HOSTILE, None, 0.8, 0.8),
        ev.MemoryWritten(1, 1, HOSTILE),
        ev.Degraded(HOSTILE, HOSTILE),
        ev.StageStarted(0, "test", 1, 1, HOSTILE),
        ev.RolloutFinished(0, "test", HOSTILE, 1.0, 1.0, "answered", False, "", HOSTILE),
        ev.TestMeasured(HOSTILE, HOSTILE, 0.5, 0.5, 1, 1),
        ev.StoppedEarly(HOSTILE),
    ]


@pytest.mark.parametrize(
    "facts", [whole_run, barren_run, guided], ids=["whole", "barren", "guided"]
)
def test_every_word_of_the_report_is_on_the_page(facts: object) -> None:
    run = reported(facts())  # type: ignore[operator]
    # What is in backticks is code on the page.
    page = text_of(parsed(as_html(run_report(run, illustrated=True)))).replace("`", "")
    for block in run_report(run):
        if isinstance(block, Rows):
            words = [cell for row in block.rows for cell in row]
        else:
            words = [getattr(block, "text", ""), getattr(block, "aside", "")]
        for said in words:
            assert " ".join(said.replace("`", "").split()) in page


@pytest.mark.parametrize(
    "facts", [whole_run, barren_run, guided], ids=["whole", "barren", "guided"]
)
def test_the_numbers_of_the_steps_are_those_of_history(facts: object) -> None:
    made = facts()  # type: ignore[operator]
    rows = [
        {data.get("data-key", ""): data for data in row.iter("data")}
        for row in parsed(written(made)).iter("tr")
    ]
    found = [row for row in rows if "step" in row]
    records = history(fold(stamp(made)))
    assert [int(row["step"].get("value", "")) for row in found] == [r["step"] for r in records]
    for row, record in zip(found, records, strict=True):
        for key in ("rollout_hard", "candidate_gate_score", "current_score", "best_score"):
            shown = row.get(key)
            assert (None if shown is None else float(shown.get("value", ""))) == record[key]
            if shown is not None:
                assert text_of(shown).removeprefix("at most ") == f"{record[key]:.2f}"
        assert int(row["broken_attempts"].get("value", "")) == record["broken_attempts"]
        applied = record["edit_apply_summary"]
        assert int(row["edit_apply_summary.applied"].get("value", "")) == applied["applied"]
        assert int(row["edit_apply_summary.total"].get("value", "")) == applied["total"]
        calls = sum(usage["calls"] for usage in record["tokens"].values())
        assert int(row["calls"].get("value", "")) == calls


def test_foreign_words_stay_words() -> None:
    for page in (written(hostile_run()), as_html(side_by_side(
        [reported(hostile_run(), HOSTILE), reported(whole_run(), HOSTILE + "2")],
        RunDifferences([Difference(HOSTILE, (HOSTILE, 1))]),
        illustrated=True,
    ))):  # fmt: skip
        page.encode()
        root = parsed(page)
        assert not {"script", "img", "iframe", "object", "link", "base"} & {
            e.tag for e in root.iter()
        }
        assert len(list(root.iter("style"))) == 1
        for element in root.iter():
            assert not any(key.startswith("on") or key == "style" for key in element.attrib)
            assert element.get("href", "#").startswith("#")
            assert "src" not in element.attrib
        assert "\x1b" not in page and "\u202e" not in page
        assert "<script>alert(1)</script>" in text_of(root)
        assert "{{ 7 * 7 }} {% raw %} &lt;b&gt;" in text_of(root)


@pytest.mark.parametrize("name", states())
def test_every_state_of_a_run_has_a_page(name: str) -> None:
    root = parsed(written(states()[name]))
    anchors = {element.get("id") for element in root.iter() if element.get("id")}
    for link in root.iter("a"):
        assert link.get("href", "").removeprefix("#") in anchors


def test_the_page_needs_nothing_from_elsewhere_and_says_so() -> None:
    page = written(whole_run())
    policy = next(m for m in parsed(page).iter("meta") if m.get("http-equiv"))
    assert policy.get("content") == "default-src 'none'; style-src 'unsafe-inline'"
    assert "url(" not in page and "@import" not in page
    assert page.count("http") == page.count('xmlns="http://www.w3.org/2000/svg"') + page.count(
        "http-equiv"
    ) + page.count("HTTP 429")
    assert "prefers-color-scheme: dark" in page


def test_edits_stand_there_in_full_with_their_states() -> None:
    folded = [d for d in parsed(written(whole_run())).iter("details") if "in full" in text_of(d)]
    assert len(folded) == 2
    said = text_of(folded[0])
    assert said.startswith("4 edits of step 1 in full")
    assert "unmatched (the target does not occur in the skill): delete" in said
    assert "Answer with one to three words." in said


def test_the_guidance_of_each_epoch_is_shown() -> None:
    assert "- keep answers short" in [text_of(q) for q in parsed(written(guided())).iter("pre")]


def test_several_runs_have_their_curves_below_each_other() -> None:
    page = as_html(
        side_by_side([reported(whole_run()), reported(barren_run(), "b")], illustrated=True)
    )
    curves = [e for e in parsed(page).iter("svg") if "curve" in e.get("class", "")]
    assert len(curves) == 4  # each for a screen and for a telephone


def test_an_evaluation_has_a_page_without_a_curve() -> None:
    page = written([begun(total_steps=0), *closing()[2:3], ev.RunFinished(0, 0, None, 0)])
    assert "<svg" not in page


@pytest.mark.parametrize(
    ("metric", "won", "lost"),
    [("hard", "fixed", "broke"), ("soft", "higher", "lower"), ("mixed", "higher", "lower")],
)
def test_tasks_that_moved_are_named_by_the_metric_of_the_run(
    metric: str, won: str, lost: str
) -> None:
    decision = GateDecision("new_best", metric, 0.8, 0.6, 0.6, 20, 20, fixed=("t1",))
    facts = [begun(metric=metric), *opening()[1:], *accepted_step(1)]
    facts = [
        ev.GateDecided(1, decision, 0.8, 0.8) if isinstance(fact, ev.GateDecided) else fact
        for fact in facts
    ]
    page = text_of(parsed(written(facts)))
    assert f"{won} 1" in page
    assert f"{lost} 0" in page
    (titles,) = [
        block.titles
        for block in run_report(reported(facts), illustrated=True)
        if isinstance(block, Rows) and "in force" in block.titles
    ]
    assert {won, lost} <= set(titles)
    assert {"fixed", "broke", "higher", "lower"} & set(titles) == {won, lost}


def test_the_heat_map_explains_the_columns_that_it_has() -> None:
    words = "e1 the text with the guidance of epoch 1"
    before = [*opening(), *accepted_step(1)[:-1]]
    # A measurement after the decision on its step is that of the epoch's end.
    closing = [ev.StageStarted(1, "measure", 20, 1), *attempts(1, "measure", 20, wins=17)]
    for facts, has in ((before, False), ([*before, *closing], True)):
        columns = [c.title for c in task_grid(fold(stamp(facts)), "selection").columns]
        assert ("e1" in columns) == has
        assert (words in text_of(parsed(written(facts)))) == has


@pytest.mark.parametrize(("columns", "kept"), [(5, False), (6, True)])
def test_a_table_of_many_columns_breaks_no_short_cell(columns: int, kept: bool) -> None:
    titles = ["95 % interval", *("n",) * (columns - 1)]
    row = ["end of epoch 3", "accepted, new best 0.17", *("1",) * (columns - 2)]
    page = as_html([Heading("Page", 1), Rows(titles, [row])])
    assert ('<th scope="col" class="whole">95 % interval</th>' in page) is kept
    assert ('<th scope="row" class="whole">end of epoch 3</th>' in page) is kept
    assert "<td>accepted, new best 0.17</td>" in page
