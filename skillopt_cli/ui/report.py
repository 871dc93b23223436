"""`gate-report`: what each step proposed, what the gate said of it, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skillopt_cli.core.edits import EditOutcome
from skillopt_cli.ui.ending import ordered_tests, trouble_words
from skillopt_cli.ui.epoch import epoch_document, told
from skillopt_cli.ui.parts import EpochView, StepView
from skillopt_cli.ui.reasons import why_no_change
from skillopt_cli.ui.summary import SCHEMA, Document, coverage, delta, status, summarise
from skillopt_cli.ui.verdict import gate_line
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.words import change, count, edit_words, one_line, out_of, score

_ID_LIMIT = 12
_STYLES = {
    "accept_new_best": "bold green",
    "accept": "green",
    "force_accept": "yellow",
    "reject": "red",
    "indecisive": "yellow",
}


def report_document(views: Sequence[RunView]) -> Document:
    """The report on one or several runs as one JSON document: `{"runs": [...]}`.

    Each run holds its `summary` (as in `summary.json`) and `steps`, oldest first.
    """
    return {"schema": SCHEMA, "runs": [_run_document(view) for view in views]}


def report_text(views: Sequence[RunView]) -> RenderableType:
    """The report for people: one run step by step, several runs side by side."""
    if len(views) == 1:
        return _run_text(views[0])
    return _comparison(views)


def _run_document(view: RunView) -> Document:
    summary = summarise(view)
    return {
        "run_id": summary["run_id"],
        "summary": summary,
        "steps": [_step_document(step) for step in view.steps],
        "epochs": [epoch_document(epoch) for epoch in view.epochs],
        "rollouts_saved": view.rollouts_saved,
        "why_no_change": summary["why_no_change"],
    }


def _step_document(step: StepView) -> Document:
    plan, batch, proposed = step.plan, step.batch, step.proposed
    standing = step.standing
    return {
        "step": step.number,
        "epoch": plan.epoch if plan else None,
        "action": step.action,
        "line": step_line(step),
        **_gate_document(step),
        "current_score": standing.current if standing else None,
        "best_score": standing.best if standing else None,
        "best_step": standing.best_step if standing else None,
        "rollout_hard": batch.hard if batch else None,
        "rollout_soft": batch.soft if batch else None,
        "rollout_n": batch.n if batch else None,
        "rollout_scored": batch.scored if batch else None,
        "n_patches": proposed.failure_patches + proposed.success_patches if proposed else None,
        "n_edits_merged": step.merged,
        "edit_budget": plan.edit_budget if plan else None,
        "candidate_digest": step.candidate.digest if step.candidate else None,
        "candidate_skill_len": step.candidate.chars if step.candidate else None,
        "edits": [_edit_document(outcome) for outcome in step.outcomes],
    }


def _gate_document(step: StepView) -> Document:
    """The gate's numbers. With `early` the candidate's score is an upper bound, not a mean."""
    fact = step.gate
    decision = fact.decision if fact else None
    early = decision.early if decision else False
    return {
        "metric": decision.metric if decision else None,
        "candidate_score": decision.candidate if decision and not early else None,
        "candidate_bound": decision.candidate if decision and early else None,
        "incumbent_score": decision.incumbent if decision else None,
        "selection_hard": fact.hard if fact else None,
        "selection_soft": fact.soft if fact else None,
        "n": decision.n if decision else None,
        "scored": decision.scored if decision else None,
        "coverage": coverage(decision.scored, decision.n) if decision else None,
        "early": early,
        "rollouts_saved": step.saved,
        "fixed": list(decision.fixed) if decision else [],
        "broke": list(decision.broke) if decision else [],
    }


def _edit_document(outcome: EditOutcome) -> dict[str, Any]:
    return {"state": outcome.state, "reason": outcome.reason, **asdict(outcome.edit)}


def step_line(step: StepView) -> str:
    """What came of a step, in one line."""
    if step.gate is not None:
        return gate_line(step.gate.decision)
    if step.skipped is not None:
        return f"skipped: {one_line(step.skipped)}"
    return "no decision recorded"


def _run_text(view: RunView) -> Group:
    ends = {epoch.step: epoch for epoch in view.epochs}
    parts: list[RenderableType] = []
    for step in view.steps:
        parts += _step_text(step)
        if step.number in ends:
            parts += _epoch_text(ends[step.number])
    return Group(*_header(view), *parts, *_footer(view))


def _header(view: RunView) -> Iterator[RenderableType]:
    run = view.run
    if run is None:
        yield Text("no run has been recorded")
        return
    yield Text(f"{one_line(run.benchmark)} {one_line(run.run_id)}", style="bold")
    yield Text(
        f"target {one_line(run.target)}, optimizer {one_line(run.optimizer)},"
        f" metric {one_line(run.metric)}, data {one_line(run.data)}",
        style="dim",
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    for title in ("skill", "val score", "tasks"):
        table.add_column(title, overflow="fold")
    for name, value, tasks in _selection_rows(view):
        table.add_row(name, value, tasks)
    yield table
    yield from _test_rows(view)


def _selection_rows(view: RunView) -> Iterator[tuple[str, str, str]]:
    base = view.baseline
    reach = out_of(base.scored, base.n) if base else "unknown"
    yield "baseline", score(base.value if base else None), reach
    standing = view.standing
    for name, value, number in (
        ("best", standing.best, standing.best_step),
        ("final", standing.current, standing.current_step),
    ):
        step = next((s for s in view.steps if s.number == number), None)
        came = f"{name} (step {number})" if number else f"{name} (seed)"
        decision = step.gate.decision if step and step.gate else None
        tasks = out_of(decision.scored, decision.n) if decision else reach
        yield came, score(value), tasks


def _test_rows(view: RunView) -> Iterator[RenderableType]:
    tests = ordered_tests(view)
    if not tests:
        return
    seed = view.tests.get("seed")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    for title in ("test", "hard", "soft", "tasks", "vs seed"):
        table.add_column(title, overflow="fold")
    for test in tests:
        gain = delta(test.hard, seed.hard) if seed is not None and test is not seed else None
        gained = "" if gain is None else change(gain)
        reach = out_of(test.scored, test.n)
        table.add_row(Text(one_line(test.label)), score(test.hard), score(test.soft), reach, gained)
    yield Text()
    yield table


def _step_text(step: StepView) -> Iterator[RenderableType]:
    action = step.action or "unfinished"
    yield Text()
    yield Text.assemble((f"Step {step.number}", "bold"), "  ", (action, _STYLES.get(action, "dim")))
    yield _inside(step_line(step))
    if step.gate is not None:
        decision = step.gate.decision
        if decision.early:
            yield _inside(f"{count(step.saved, 'rollout')} saved")
        else:
            yield _inside(f"measured on {out_of(decision.scored, decision.n)}")
            yield _inside(_task_line("fixed", decision.fixed), "green" if decision.fixed else "dim")
            yield _inside(_task_line("broke", decision.broke), "red" if decision.broke else "dim")
    for outcome in step.outcomes:
        yield _inside(_outcome_line(outcome), "" if outcome.state == "applied" else "yellow")


def _epoch_text(epoch: EpochView) -> Iterator[RenderableType]:
    lines = told(epoch)
    if lines:
        yield Text()
        yield Text(f"End of epoch {epoch.number}", style="bold")
        yield from (_inside(line) for line in lines)


def _inside(text: str, style: str = "") -> Padding:
    return Padding(Text(text, style=style), (0, 0, 0, 2), expand=False)


def _task_line(word: str, ids: Sequence[str]) -> str:
    shown = ", ".join(one_line(task) for task in ids[:_ID_LIMIT])
    more = f" and {len(ids) - _ID_LIMIT} more" if len(ids) > _ID_LIMIT else ""
    return f"{word} {len(ids)}: {shown}{more}" if ids else f"{word} 0"


def _outcome_line(outcome: EditOutcome) -> str:
    reason = f" ({one_line(outcome.reason)})" if outcome.reason else ""
    ground = f" [{outcome.edit.source}, support {outcome.edit.support}]"
    return f"{outcome.state}{reason}: {edit_words(outcome.edit, 72)}{ground}"


def _footer(view: RunView) -> Iterator[RenderableType]:
    yield Text()
    made = count(view.made, "rollout")
    yield Text(f"status: {status(view)}, {made} made, {view.rollouts_saved} saved")
    if trouble := trouble_words(view):
        yield Text(f"trouble: {trouble}", style="yellow")
    reasons = why_no_change(view)
    if reasons is not None:
        yield Text(f"why no change: {reasons['sentence']}", style="bold yellow")
        if reasons["edits"]:
            lost = ", ".join(f"{n} {state}" for state, n in reasons["edits"].items())
            yield Text(f"edits that were not applied: {lost}", style="yellow")


def _comparison(views: Sequence[RunView]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        caption="steps: accepted/rejected/skipped/indecisive",
        caption_justify="left",
    )
    table.add_column("run", overflow="fold")
    for title in ("baseline", "best", "test seed", "test best", "n", "steps"):
        table.add_column(title, justify="right", overflow="fold")
    table.add_column("status", overflow="fold")
    for view in views:
        table.add_row(*(Text(cell) for cell in _comparison_row(view)))
    return table


def _comparison_row(view: RunView) -> tuple[str, ...]:
    summary = summarise(view)
    counts = (summary[f"total_{name}"] for name in ("accepts", "rejects", "skips", "indecisive"))
    n, scored = summary["test_n"], summary["test_scored"]
    gain = summary["test_delta_hard"]
    tested = f" ({change(gain)})" if gain is not None else ""
    return (
        one_line(summary["run_id"] or "?"),
        score(view.baseline.value if view.baseline else None),
        score(view.standing.best),
        score(summary["baseline_test_hard"]) if summary["baseline_test_n"] else "-",
        f"{score(summary['test_hard'])}{tested}" if n else "-",
        ("-" if not n else str(n)) if scored == n else f"{scored}/{n}",
        "/".join(str(number) for number in counts),
        str(summary["status"]),
    )
