"""What a report shows where pictures can be shown: curve, steps in a table, tasks by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from skillopt_cli.charts.heat_map import heat_legend, heat_map, heat_words
from skillopt_cli.charts.score_curve import curve_legend, curve_words, score_curve
from skillopt_cli.charts.task_grid import Grid, task_grid
from skillopt_cli.core.edits import REWRITE, EditOutcome
from skillopt_cli.core.formatting import count
from skillopt_cli.reports.page import Block, Details, Figure, Heading, Line, Number, Quote, Rows
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.text.action import action_words
from skillopt_cli.runlog.text.edit import trial_words
from skillopt_cli.runlog.text.flips import flip_names
from skillopt_cli.runlog.text.format import dollars, one_line, plain_words, score
from skillopt_cli.runlog.view import RunView

_NARROW = 320
"""Pixels a picture has on a telephone."""
_NONE = "-"
_TITLES = ("step", "epoch", "action", "train", "candidate", "in force", "best", "tried", "edits")
_SPENT = ("broken", "saved", "calls", "tokens")


def overview(view: RunView) -> Iterator[Block]:
    """The course of a run at a glance."""
    if view.baseline is None:
        return
    yield Heading("Course")
    yield curve(view)
    if view.steps:
        yield steps_table(view)
    yield Heading("Tasks by step")
    selection = task_grid(view, "selection")
    yield heat(selection)
    closing = next((c.title for c in selection.columns if c.title.startswith("e")), "")
    guidance = f", {closing} the text with the guidance of epoch {closing[1:]}" if closing else ""
    yield Line(
        f"Column 0 is the seed skill, a number the candidate of that step{guidance}. The bar below"
        " it says whether the text was accepted.",
        "dim",
        free=True,
    )
    for grid in (selection, task_grid(view, "train"), task_grid(view, "test")):
        if grid.tasks:
            stories = [(one_line(task), grid.story(task)) for task in grid.tasks]
            pictures = () if grid is selection else (heat(grid),)
            title = f"{grid.what} in words" if grid is selection else grid.what
            rows = Rows(("task", "outcome"), stories)
            yield Details(title.capitalize(), (*pictures, rows))


def curve(view: RunView) -> Figure:
    """The score curve."""
    narrow = score_curve(view, width=_NARROW)
    return Figure(curve_words(view), score_curve(view), narrow, curve_legend(view))


def courses(runs: Sequence[Subject]) -> Iterator[Block]:
    """The score curves of several runs."""
    trained = [run for run in runs if run.view.baseline is not None and run.view.total_steps]
    if trained:
        yield Heading("Courses")
    for run in trained:
        yield Heading(one_line(run.label), 3)
        yield curve(run.view)


def heat(grid: Grid, links: Mapping[str, str] | None = None) -> Figure:
    """A heat map; `links` has the addresses that rows lead to, by task."""
    return Figure(heat_words(grid), heat_map(grid, links), None, heat_legend(grid))


def steps_table(view: RunView) -> Rows:
    """A row per step, in the numbers of `history.json`."""
    priced = any(step.ledger.total.usd for step in view.steps)
    flips = flip_names(view.run.metric if view.run else "hard")
    titles = (*_TITLES, *flips, *_SPENT, *(("USD",) if priced else ()))
    rows = [_row(step, priced) for step in view.steps]
    return Rows(titles, rows, [0, 1, *range(3, len(titles))])


def edits_in_full(step: StepView) -> Iterator[Block]:
    """The step's edits with their whole texts, and what became of each."""
    if not step.outcomes:
        return
    blocks = [block for outcome in step.outcomes for block in _edit(step, outcome)]
    once = ", the same edit of several rounds once" if len(step.choices) > 1 else ""
    edits = count(len(step.outcomes), "edit")
    yield Details(f"{edits} of step {step.number} in full{once}", blocks)


def _edit(step: StepView, outcome: EditOutcome) -> Iterator[Line | Quote]:
    edit = outcome.edit
    reason = f" ({one_line(outcome.reason)})" if outcome.reason else ""
    place = f" in {one_line(edit.file)}" if edit.file else ""
    fate = step.fate(outcome)
    style = {"applied": "green", "appended": "green", "tried": ""}.get(fate, "yellow")
    yield Line(f"{fate}{reason}: {plain_words(one_line(edit.op))}{place}", style)
    # That of a rewrite is what it changes, which the step has.
    if edit.evidence and edit.op != REWRITE:
        yield Line(f"evidence: {one_line(edit.evidence)}")
    if outcome.trial is not None:
        words = trial_words(outcome.trial, step.checked_with(outcome))
        yield Line(f"tried before the gate: {words}")
    if edit.target:
        yield Line("at this text:")
        yield Quote(edit.target)
    if edit.content:
        yield Line("this text:")
        yield Quote(edit.content)


def _row(step: StepView, priced: bool) -> tuple[str, ...]:
    decision = step.gate.decision if step.gate else None
    plan, standing, spent = step.plan, step.standing, step.ledger.total
    states = [outcome.changed for outcome in step.outcomes] if step.candidate else None
    applied = None if states is None else sum(states)
    early = decision is not None and decision.early
    return (
        _whole(step.number, "step"),
        _whole(plan.epoch if plan else None, "epoch"),
        action_words(step.action),
        _score(step.batch.hard if step.batch else None, "rollout_hard"),
        _score(decision.candidate if decision else None, "candidate_gate_score", early),
        _score(standing.current if standing else None, "current_score"),
        _score(standing.best if standing else None, "best_score"),
        _whole(applied, "edit_apply_summary.applied"),
        _whole(None if states is None else len(states), "edit_apply_summary.total"),
        _whole(len(decision.fixed) if decision and not early else None, "fixed"),
        _whole(len(decision.broke) if decision and not early else None, "broke"),
        _whole(step.broken, "broken_attempts"),
        _whole(step.saved, "rollouts_saved"),
        _whole(spent.calls, "calls"),
        _whole(spent.tokens, "tokens"),
        *((_dollars(spent.usd),) if priced else ()),
    )


def _score(value: float | None, key: str, bound: bool = False) -> str:
    """A score as `history.json` has it; an upper bound is marked as one."""
    if value is None:
        return _NONE
    return Number(f"{'at most ' * bound}{score(value)}", round(value, 6), key)


def _whole(value: int | None, key: str) -> str:
    return _NONE if value is None else Number(f"{value:,}", value, key)


def _dollars(usd: float | None) -> str:
    return _NONE if usd is None else Number(dollars(usd), round(usd, 12), "usd")
