"""One run, told step by step; an evaluation in short."""

from __future__ import annotations

from collections.abc import Iterator

from skillopt_cli.core.events import TestMeasured
from skillopt_cli.ui.data import models_words, skill_words
from skillopt_cli.ui.ending import ordered_tests, spend_lines, status_words
from skillopt_cli.ui.page import Block, Heading, Line, Number, Rows
from skillopt_cli.ui.reasons import why_no_change
from skillopt_cli.ui.report.cost import cost_blocks
from skillopt_cli.ui.report.figures import edits_in_full, overview
from skillopt_cli.ui.report.reported import Reported
from skillopt_cli.ui.report.savings import savings_blocks
from skillopt_cli.ui.report.steps import epoch_blocks, step_blocks
from skillopt_cli.ui.summary import delta
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.words import (
    UNKNOWN,
    change,
    count,
    duration,
    one_line,
    out_of,
    result_name,
    score,
)


def story(reported: Reported, *, illustrated: bool = False) -> Iterator[Block]:
    """The report on one run; `illustrated` for a place that can show pictures."""
    view = reported.view
    if view.run is None:
        yield Heading(one_line(reported.label) or "run", 1)
        yield Line("no run has been recorded", free=True)
        return
    yield from _head(view)
    if not view.total_steps:
        yield from _tests(view)
        yield from _ending(view)
        return
    yield from _selection(view)
    yield from _tests(view)
    if illustrated:
        yield from overview(view)
    ends = {epoch.step: epoch for epoch in view.epochs}
    if view.steps:
        yield Heading("Steps")
    for step in view.steps:
        yield from step_blocks(step, closes_epoch=step.number in ends)
        if illustrated:
            yield from edits_in_full(step)
        if step.number in ends:
            yield from epoch_blocks(ends[step.number])
    yield from _why(view)
    yield from savings_blocks(view)
    yield from cost_blocks(view)
    yield from _ending(view)


def _head(view: RunView) -> Iterator[Block]:
    run = view.run
    if run is None:
        return
    kind = "" if view.total_steps else "evaluation"
    yield Heading(f"{one_line(run.benchmark)} {one_line(run.run_id)}", 1, kind, "dim")
    if skill := skill_words(run):
        yield Line(f"skill {skill}", free=True)
    yield Line(
        f"{models_words(run)}, metric {one_line(run.metric)}, data {one_line(run.data)}",
        "dim",
        free=True,
    )


def _selection(view: RunView) -> Iterator[Block]:
    base, saved, standing = view.baseline, view.saved, view.standing
    reach = out_of(base.scored, base.n) if base else UNKNOWN
    rows = [("baseline", _known(base.value if base else None, "baseline_gate_score"), reach)]
    for name, value, number, means in (
        ("best", standing.best, standing.best_step, saved.best if saved else None),
        ("final", standing.current, standing.current_step, saved.current if saved else None),
    ):
        came = f"{name} (step {number})" if number else f"{name} (seed)"
        shown = _known(value, f"{name}_gate_score")
        rows.append((came, shown, out_of(means.scored, means.n) if means else reach))
    yield Rows(("skill", "val score", "tasks"), rows)
    honest = (
        "the test score is the honest one"
        if {"best", "final"} & view.tests.keys()
        else "no test score, the honest one, was measured"
    )
    yield Line(
        f"The best val score was selected on these tasks, so it flatters; {honest}.",
        "dim",
        free=True,
    )


def _known(value: float | None, key: str) -> str:
    return score(None) if value is None else Number(score(value), value, key)


def _tests(view: RunView) -> Iterator[Block]:
    tests = ordered_tests(view)
    if not tests:
        return
    seed = view.tests.get("seed")
    rows = []
    for test in tests:
        gains = _gains(test, seed) if seed is not None else ()
        key = one_line(test.label)
        name = key if view.total_steps else result_name(key)
        cells = (name, _known(test.hard, f"{key}.hard"), _known(test.soft, f"{key}.soft"))
        reach = out_of(test.scored, test.n)
        rows.append((*cells, reach, *gains))
    titles = ("test" if view.total_steps else "split", "hard", "soft", "tasks")
    yield Rows((*titles, "hard vs seed", "soft vs seed") if seed else titles, rows)


def _gains(test: TestMeasured, seed: TestMeasured) -> tuple[str, str]:
    """What a test's hard and soft score gained on those of the seed."""
    if test is seed:
        return "", ""
    hard, soft = delta(test.hard, seed.hard), delta(test.soft, seed.soft)
    return "" if hard is None else change(hard), "" if soft is None else change(soft)


def _why(view: RunView) -> Iterator[Block]:
    reasons = why_no_change(view)
    if reasons is None:
        return
    yield Heading("Why nothing changed")
    yield Line(reasons["sentence"], "bold yellow")
    if reasons["edits"]:
        lost = ", ".join(f"{n} {state}" for state, n in reasons["edits"].items())
        yield Line(f"edits that were not applied: {lost}", "yellow")


def _ending(view: RunView) -> Iterator[Block]:
    yield Heading("Ending", 2, status_words(view))
    made = f"{count(view.made, 'rollout')} made"
    recalled = f", {view.recalled:,} recalled" if view.recalled else ""
    yield Line(f"{made}{recalled}, {view.rollouts_saved:,} saved, in {duration(view.wall_time)}")
    if view.loaded:
        loaded, known = view.loaded.get(True, 0), sum(view.loaded.values())
        share = f"The agent loaded the skill in {loaded:,} of {count(known, 'attempt')}"
        yield Line(f"{share} ({loaded / known:.0%})", "" if loaded == known else "yellow")
    for line in spend_lines(view):
        yield Line(line, "yellow" if line.startswith("Trouble") else "")
    if view.stopped:
        yield Line(f"Stopped early: {one_line(view.stopped)}")
    if view.drift:
        changes = "; ".join(one_line(change) for change in view.drift)
        yield Line(f"Drift allowed: {changes}", "yellow")
