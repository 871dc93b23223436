"""The page of one step, and the page of all epochs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from markupsafe import Markup
from starlette.requests import Request

from skillopt_cli.charts.task_grid import counted
from skillopt_cli.core.edits import Identity
from skillopt_cli.core.events import RunFinished
from skillopt_cli.reports.page import Block, Heading, Line
from skillopt_cli.reports.run.document import step_document
from skillopt_cli.reports.run.figures import edits_in_full
from skillopt_cli.reports.run.steps import epoch_blocks, step_blocks
from skillopt_cli.runlog.attempt_folders import attempt_folder
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.text.edit import edit_words
from skillopt_cli.runlog.text.format import one_line
from skillopt_cli.runlog.text.step import most_edits
from skillopt_cli.runlog.text.unfinished import unrecorded_words
from skillopt_cli.runlog.view import RunView
from skillopt_cli.web.context import Page, WebContext, run_name, whole_number
from skillopt_cli.web.pages.attempts import AttemptLink, address, trials_of
from skillopt_cli.web.pages.run_page import run_page
from skillopt_cli.web.paths import NotFound
from skillopt_cli.web.runs import RunSnapshot

FIGURES = (
    ("rollout_hard", "train score, hard"),
    ("rollout_soft", "train score, soft"),
    ("rollout_scored", "train tasks scored"),
    ("rollout_n", "train tasks"),
    ("candidate_gate_score", "score of the candidate"),
    ("incumbent_gate_score", "score to beat"),
    ("selection_hard", "selection score, hard"),
    ("selection_soft", "selection score, soft"),
    ("selection_scored", "selection tasks scored"),
    ("selection_n", "selection tasks"),
    ("current_score", "score in force after it"),
    ("best_score", "best score after it"),
    ("best_origin", "best skill is from"),
    ("n_patches", "patches"),
    ("n_edits_merged", "edits merged, in all rounds"),
    ("n_edits_ranked", "edits chosen, in all rounds"),
    ("edit_apply_summary.total", "edits with an outcome, the same edit of several rounds once"),
    ("edit_apply_summary.applied", "edits in the candidate"),
    ("edit_budget", "edits that may stay"),
    ("candidate_skill_len", "candidate, characters"),
    ("skill_len", "skill in force, characters"),
    ("broken_attempts", "broken attempts"),
)
"""Entries of a step's record on its page, with their titles."""


def page(context: WebContext, request: Request) -> Page:
    """The proposed edits of a step, their outcome, and all attempts of the step."""
    snapshot = context.runs.snapshot(run_name(request))
    view, number = snapshot.view, whole_number(request.path_params["step"])
    if number is None:
        raise NotFound
    step = next((s for s in view.steps if s.number == number), None)
    if step is None and snapshot.whole:
        raise NotFound
    record: dict[str, Any] = step_document(step) if step else {}
    summary = record.get("edit_apply_summary") or {}
    shown = {
        **record,
        "best_origin": step.standing.best_origin if step and step.standing else None,
        "edit_apply_summary.total": summary.get("total"),
        "edit_apply_summary.applied": summary.get("applied"),
    }
    return run_page(
        snapshot,
        "step.html",
        "Overview",
        f"step {number}",
        number=number,
        record=record,
        figures=[(key, title, shown[key]) for key, title in FIGURES] if record else [],
        blocks=_blocks(snapshot, step) if step else [],
        chosen=step.chosen.chosen if step and step.chosen and not step.candidate else (),
        most=_fewer(step),
        unrecorded=unrecorded_words(view, step) if step else "",
        end=next((e for e in view.epochs if e.step == number and e.guided), None),
        trials=_trials(snapshot, step) if step else [],
        rounds=_rounds(view, number),
        last=view.steps[-1].number if view.steps else number,
    )


def _fewer(step: StepView | None) -> int | None:
    """How many of the chosen edits may stay, where those are more."""
    most = most_edits(step)
    chosen = len(step.chosen.chosen) if step and step.chosen else 0
    return most if most is not None and most < chosen else None


def epochs(context: WebContext, request: Request) -> Page:
    """The ends of all epochs: slow update, guidance, the optimizer's own notes."""
    snapshot = context.runs.snapshot(run_name(request))
    found = [block for epoch in snapshot.view.epochs for block in epoch_blocks(epoch)]
    # The heading of an epoch is right below the page's.
    blocks = [
        replace(b, level=2) if isinstance(b, Heading) else b for b in _linked(snapshot, found)
    ]
    done = isinstance(snapshot.view.ending, RunFinished)
    empty = "No epoch ended with a slow update or notes." if done else "No epoch has ended yet."
    return run_page(snapshot, "report.html", "Epochs", blocks=blocks, empty=empty)


def _blocks(snapshot: RunSnapshot, step: StepView) -> list[Block]:
    """What the report has of a step; the page has a heading of its own."""
    own = (block for block in step_blocks(step) if not isinstance(block, Heading))
    return [*_linked(snapshot, own), *edits_in_full(step)]


def _linked(snapshot: RunSnapshot, blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of a report, with a link for each task that a line counts."""
    for block in blocks:
        if isinstance(block, Line) and block.tasks:
            links = Markup(", ").join(_link(snapshot, task) for task in block.tasks)
            yield replace(block, text=Markup("{}: {}").format(block.text, links), tasks=())
        else:
            yield block


def _link(snapshot: RunSnapshot, task: str) -> Markup:
    url = address(snapshot.name, task, more={"split": "selection"})
    return Markup('<a href="{}">{}</a>').format(url, one_line(task))


def _trials(snapshot: RunSnapshot, step: StepView) -> list[tuple[str, list[AttemptLink]]]:
    """The attempts that edits were tried with before the gate, by trial."""
    made, seen = list[tuple[str, list[AttemptLink]]](), set[Identity]()
    for trial, found in trials_of(step, snapshot.texts):
        again = " (tried again)" if trial.edit.identity in seen else ""
        seen.add(trial.edit.identity)
        solved = f"solved {len(trial.fixed)} of {len(trial.tried)}"
        made.append((f"{edit_words(trial.edit)}{again}: {solved}", found))
    return made


def _rounds(view: RunView, number: int) -> list[tuple[str, list[AttemptLink]]]:
    """The step's attempts by skill, those at the end of its epoch included."""
    found = []
    for made in view.rounds:
        if made.step == number:
            what, place = attempt_folder(view, made)
            outcomes = sorted(made.outcomes, key=lambda outcome: counted(outcome.task))
            found.append((what, [AttemptLink(what, place, outcome) for outcome in outcomes]))
    return found
