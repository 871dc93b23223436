"""One step in full."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from skillopt_cli.ui.report import Reported, report_document
from skillopt_cli.ui.report.figures import edits_in_full
from skillopt_cli.ui.report.steps import step_blocks
from skillopt_cli.ui.view import RunView
from skillopt_cli.web.pages.attempts import Tried, where
from skillopt_cli.web.pages.framed import framed
from skillopt_cli.web.places import Missing
from skillopt_cli.web.site import Page, Site, named, whole_number

FIGURES = (
    ("rollout_hard", "train, hard"),
    ("rollout_soft", "train, soft"),
    ("rollout_scored", "train, scored"),
    ("rollout_n", "train, of"),
    ("candidate_gate_score", "candidate"),
    ("incumbent_gate_score", "to beat"),
    ("selection_hard", "selection, hard"),
    ("selection_soft", "selection, soft"),
    ("selection_scored", "selection, scored"),
    ("selection_n", "selection, of"),
    ("current_score", "in force after it"),
    ("best_score", "best after it"),
    ("best_step", "best is of step"),
    ("n_patches", "patches"),
    ("n_edits_merged", "edits after merging"),
    ("n_edits_ranked", "edits chosen"),
    ("edit_budget", "most edits"),
    ("candidate_skill_len", "candidate, characters"),
    ("skill_len", "in force, characters"),
    ("broken_attempts", "broken attempts"),
)
"""Entries of a step's record that its page shows, and what they are called there."""


def page(site: Site, request: Request) -> Page:
    """What a step proposed, what became of it, and every attempt made for it."""
    seen = site.runs.seen(named(request))
    view, number = seen.view, whole_number(request.path_params["step"])
    if number is None:
        raise Missing
    step = next((s for s in view.steps if s.number == number), None)
    if step is None and seen.whole:
        raise Missing
    (document,) = report_document([Reported(seen.name.run_id, view)])["runs"]
    record: dict[str, Any] = next((r for r in document["steps"] if r["step"] == number), {})
    return framed(
        seen,
        "step.html",
        "Overview",
        f"step {number}",
        number=number,
        record=record,
        figures=[(key, title, record[key]) for key, title in FIGURES] if record else [],
        # Its heading is the page's.
        blocks=[*list(step_blocks(step))[1:], *edits_in_full(step)] if step else [],
        chosen=step.chosen.chosen if step and step.chosen and not step.candidate else (),
        rounds=_rounds(view, number),
        last=view.steps[-1].number if view.steps else number,
    )


def _rounds(view: RunView, number: int) -> list[tuple[str, list[Tried]]]:
    """The step's attempts by what they were made with, the end of its epoch included."""
    found = []
    for made in view.rounds:
        if made.step == number:
            what, place = where(view, made)
            found.append((what, [Tried(what, place, outcome) for outcome in made.outcomes]))
    return found
