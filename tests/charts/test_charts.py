"""Pictures: what is drawn is what the log says, and foreign words stay words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from facts import (
    accepted_step,
    attempts,
    barren_run,
    begun,
    epoch_end,
    opening,
    proposing,
    rejected_step,
    saved,
    stamp,
    states,
    whole_run,
)
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.charts.heat_map import heat_legend, heat_map
from skillopt_cli.charts.score_curve import curve_legend, score_curve
from skillopt_cli.charts.sparkline import sparkline
from skillopt_cli.charts.svg import style
from skillopt_cli.charts.task_grid import Column, Grid, task_grid
from skillopt_cli.core import events as ev
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import history
from skillopt_cli.runlog.view import RunView

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title></svg><script>alert('1')</script>\"' onload=x & \x00\x1b[31m"


def viewed(facts: Iterable[ev.RunEvent]) -> RunView:
    return fold(stamp(facts))


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def guided_run(*, again: bool = False) -> list[ev.RunEvent]:
    """An epoch's end that measures the text with guidance, and the best one where it is another."""
    return [
        *opening(),
        *accepted_step(1)[:-1],
        ev.StageStarted(1, "measure", 20, 4),
        *attempts(1, "measure", 20, wins=18),
        ev.StageFinished(1, "measure"),
        *([ev.StageStarted(1, "measure", 20, 4), *attempts(1, "measure", 20, wins=19)] * again),
        *epoch_end(1),
        saved(1, 0.9, 0.9, 1, 1, 200),
    ]


def test_cells_tell_right_failed_broken_and_not_evaluated() -> None:
    grid = task_grid(viewed(whole_run()), "selection")
    assert [c.title for c in grid.columns] == ["0", "1", "2", "3"]
    assert [c.action for c in grid.columns] == ["", "accept_new_best", "reject", "skip_no_patches"]
    assert grid.tasks[:3] == ("t0", "t1", "t2") and grid.tasks[-1] == "t19"
    assert grid.counts == {
        "right": 13 + 16 + 1,
        "failed": 7 + 4 + 5,
        "broken": 0,
        "unseen": 14 + 20,
    }
    assert grid.story("t0") == "right at 0 to 2; not evaluated at 3"
    train = task_grid(viewed(whole_run()), "train")
    assert train.counts == {"right": 2 + 2 + 3, "failed": 2 + 2, "broken": 1, "unseen": 0}
    assert train.story("t0") == "right at 1, 2; broken, no score at 3"


def test_a_graded_score_below_full_marks_is_a_failure() -> None:
    graded = ev.RolloutFinished(0, "measure", "t0", 0.99, 1.0, "answered", False)
    view = viewed([begun(), ev.StageStarted(0, "measure", 1, 1), graded])
    assert task_grid(view, "selection").columns[0].state("t0") == "failed"


def test_the_end_of_an_epoch_has_columns_of_its_own() -> None:
    grid = task_grid(viewed(guided_run(again=True)), "selection")
    assert [c.title for c in grid.columns] == ["0", "1", "e2", "e2b"]
    assert [len([1 for t in grid.tasks if c.state(t) == "right"]) for c in grid.columns] == [
        13,
        16,
        18,
        19,
    ]


def test_a_step_done_again_after_a_kill_forgets_what_the_killed_one_found() -> None:
    killed = [
        *proposing(2),
        ev.StageStarted(2, "measure", 20, 4),
        *attempts(2, "measure", 9, wins=9),
    ]
    view = viewed([*opening(), *accepted_step(1), *killed])
    assert task_grid(view, "selection").columns[2].state("t8") == "right"
    view = fold(stamp([begun(1), *rejected_step(2)], first=500), view)
    column = task_grid(view, "selection").columns[2]
    assert (column.state("t0"), column.state("t5"), column.state("t8")) == (
        "right",
        "failed",
        "unseen",
    )


def test_a_baseline_or_a_test_begun_again_counts_once() -> None:
    half = opening()[:10]
    assert len(task_grid(viewed([*half, *opening()]), "selection").columns) == 1
    tested = [
        ev.StageStarted(0, "test", 4, 4, "best"),
        *attempts(0, "test", 4, wins=4, label="best"),
    ]
    view = viewed([*opening(), saved(3, 0.8, 0.8, 1, 1, 9), *tested[:3], begun(3), *tested])
    grid = task_grid(view, "test")
    assert [c.title for c in grid.columns] == ["best"]
    assert grid.counts["right"] == 4


def test_the_map_draws_each_cell_once_in_the_form_of_its_state() -> None:
    view = viewed(whole_run())
    for grid in (task_grid(view, "selection"), task_grid(view, "train")):
        rows = [g for g in parsed(heat_map(grid)).iter(f"{SVG}g") if g.get("data-task")]
        assert [row.get("data-task") for row in rows] == list(grid.tasks)
        for state, n in grid.counts.items():
            paths = [p for row in rows for p in row.iter(f"{SVG}path") if p.get("class") == state]
            shapes = sum(p.get("d", "").count("M") for p in paths)
            assert shapes == (2 * n if state == "broken" else n)
        assert len(heat_legend(grid)) == sum(n > 0 for n in grid.counts.values())


def test_long_titles_of_columns_keep_a_gap() -> None:
    columns = tuple(Column(title, title, None) for title in ("9", "99", "100", "e10", "101"))  # type: ignore[arg-type]
    grid = Grid("tasks", columns, {"t1": ("right",) * len(columns)})
    heads = [g for g in parsed(heat_map(grid)).iter(f"{SVG}g") if g.get("data-column")]
    texts = [text for head in heads for text in head.iter(f"{SVG}text")]
    assert [text.text for text in texts] == [column.title for column in columns]
    ends = [(float(text.get("x", "")), 6.2 * len(text.text or "") / 2) for text in texts]
    assert all(x + half + 3.9 <= y - other for (x, half), (y, other) in pairwise(ends))


def test_a_large_map_stays_small() -> None:
    facts: list[ev.RunEvent] = [begun(total_steps=40)]
    for step in range(1, 41):
        facts += [ev.StepStarted(step, 1, step, 8, 8.0, 8, "cosine")]
        facts += [ev.StageStarted(step, "measure", 200, 4)]
        facts += attempts(step, "measure", 200, wins=step, broken=step % 3)
    grid = task_grid(viewed(facts), "selection")
    assert sum(grid.counts.values()) == 8000
    assert len(heat_map(grid)) < 300_000


def test_the_curve_has_the_scores_of_history() -> None:
    for facts in (whole_run(), barren_run(), guided_run()):
        stamped = stamp(facts)
        records = history(fold(stamped))
        shapes = [e for e in parsed(score_curve(fold(stamped))).iter() if e.get("data-score")]
        now = {
            int(e.get("data-step", "")): float(e.get("data-score", ""))
            for e in shapes
            if e.get("class") == "now"
        }
        assert now.pop(0) == 0.65
        assert now == {r["step"]: r["current_score"] for r in records}
        marks = {
            int(e.get("data-step", "")): float(e.get("data-score", ""))
            for e in shapes
            if e.get("class", "").startswith("mark") and "guided" not in e.get("class", "")
        }
        assert marks == {
            r["step"]: r["candidate_gate_score"]
            for r in records
            if r["candidate_gate_score"] is not None
        }


def test_marks_tell_verdicts_apart() -> None:
    kinds = [e.get("class") for e in parsed(score_curve(viewed(whole_run()))).iter(f"{SVG}path")]
    assert {"mark taken", "mark bound"} <= set(kinds)
    kinds = [e.get("class") for e in parsed(score_curve(viewed(barren_run()))).iter(f"{SVG}path")]
    assert {"mark bound", "mark refused", "mark open"} <= set(kinds)
    assert len(curve_legend(viewed(barren_run()))) == 5
    assert [words for _, words in curve_legend(viewed(guided_run()))][-1].startswith("text with")


def test_the_bound_of_an_early_rejection_is_told_as_one() -> None:
    titles = [e.text for e in parsed(score_curve(viewed(whole_run()))).iter(f"{SVG}title")]
    assert "step 2: candidate at most 0.75, rejected" in titles


@pytest.mark.parametrize("name", states())
@pytest.mark.parametrize("width", [320, 720])
def test_every_state_can_be_drawn_within_its_paper(name: str, width: int) -> None:
    view = viewed(states()[name])
    svg = parsed(score_curve(view, width=width))
    assert svg.get("viewBox") == f"0 0 {width} 240"
    for text in svg.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x", "")) <= width
    for mark in (e for e in svg.iter() if e.get("cx")):
        assert 0 <= float(mark.get("cx", "")) <= width and 0 <= float(mark.get("cy", "")) <= 240
    for grid in (task_grid(view, "selection"), task_grid(view, "train"), task_grid(view, "test")):
        parsed(heat_map(grid))


def test_labels_of_many_steps_do_not_collide() -> None:
    svg = parsed(score_curve(viewed([begun(total_steps=1000), *opening()[1:]]), width=320))
    steps = [e for e in svg.iter(f"{SVG}text") if e.get("class") == "step" and e.text != "step"]
    places = [float(e.get("x", "")) for e in steps]
    assert min(b - a for a, b in pairwise(places)) > 4 * 6.5


@given(st.lists(st.none() | st.floats(0, 1), max_size=8))
def test_any_scores_can_be_drawn(values: list[float | None]) -> None:
    facts: list[ev.RunEvent] = [begun(total_steps=8), ev.BaselineMeasured(0.5, 0.5, 0.5, 4, 4)]
    for step, value in enumerate(values, 1):
        decision = GateDecision("new_best", "hard", value, 0.5, 0.5, 4, 4)
        facts += [ev.StepStarted(step, 1, step, 8, 8.0, 8, "constant")]
        facts += [ev.GateDecided(step, decision, value, value)]
    svg = score_curve(viewed(facts))
    assert "nan" not in svg
    marks = [e for e in parsed(svg).iter() if e.get("class") == "mark taken"]
    assert len(marks) == sum(v is not None for v in values)
    known = any(value is not None for value in values)
    assert len(sparkline(values)) == known * len(values)


def curve_of(values: list[float]) -> str:
    """The curve of a run whose seed has the first value, and the skill after each step the next."""
    first, *others = values
    facts: list[ev.RunEvent] = [
        begun(total_steps=len(others)),
        ev.BaselineMeasured(first, first, first, 4, 4),
    ]
    for step, value in enumerate(others, 1):
        decision = GateDecision("new_best", "hard", value, 0.5, 0.5, 4, 4)
        facts += [ev.StepStarted(step, 1, step, 8, 8.0, 8, "constant")]
        facts += [ev.GateDecided(step, decision, value, value)]
        facts += [saved(step, value, value, step, step, 100)]
    return score_curve(viewed(facts))


@given(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=2, max_size=8))
def test_every_level_of_a_curve_has_a_width(values: list[float]) -> None:
    svg = parsed(curve_of(values))
    for name in ("current", "best"):
        (path,) = (e for e in svg.iter(f"{SVG}path") if e.get("class") == name)
        moves = re.findall(r"([MHV])([\d.]+)(?: [\d.]+)?", path.get("d", ""))
        across = [float(x) for kind, x in moves if kind != "V"]
        # Up and down only between two stretches that lead on.
        assert [kind for kind, _ in moves] == ["M", *("HVH" * (len(values) - 1))]
        assert all(b > a for a, b in pairwise(across))


@pytest.mark.parametrize("value", [0.0, 0.65, 1.0])
def test_a_curve_without_a_change_is_drawn_on_the_whole_range(value: float) -> None:
    svg = parsed(curve_of([value, value]))
    labels = [e.text for e in svg.iter(f"{SVG}text") if e.get("class") == "score"]
    assert (labels[0], labels[-1]) == ("0.00", "1.00")


def test_foreign_words_stay_words() -> None:
    facts = [begun(benchmark=HOSTILE), ev.StageStarted(0, "measure", 1, 1)]
    facts += [ev.RolloutFinished(0, "measure", HOSTILE, 1.0, 1.0, "answered", False)]
    facts += [ev.StageStarted(0, "test", 1, 1, HOSTILE)]
    facts += [ev.RolloutFinished(0, "test", HOSTILE, 1.0, 1.0, "answered", False, "", HOSTILE)]
    view = viewed(facts)
    for grid in (task_grid(view, "selection"), task_grid(view, "test")):
        svg = heat_map(grid)
        names = {e.tag.removeprefix(SVG) for e in parsed(svg).iter()}
        assert names <= {"svg", "g", "title", "rect", "text", "path"}
        assert all(not key.startswith("on") for e in parsed(svg).iter() for key in e.attrib)
        assert "\x1b" not in svg


def test_colours_follow_the_reader() -> None:
    assert "prefers-color-scheme: dark" in style()
    assert "url(" not in style() and "@import" not in style()
