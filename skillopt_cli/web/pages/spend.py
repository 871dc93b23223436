"""The spend of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from starlette.requests import Request

from skillopt_cli.core.ledger import Spent
from skillopt_cli.reports.page import Block, Heading, Line, Rows
from skillopt_cli.reports.run.cost import cost_blocks, is_priced, money_cell
from skillopt_cli.reports.run.early_rejection import savings_blocks
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.text.format import one_line
from skillopt_cli.runlog.text.limits import (
    cap_words,
    limits_words,
    pace_place,
    refused_words,
    speed_words,
)
from skillopt_cli.runlog.view import RunView
from skillopt_cli.web.context import Page, WebContext, run_name
from skillopt_cli.web.listing import part_of
from skillopt_cli.web.pages.run_page import run_page


def page(context: WebContext, request: Request) -> Page:
    """Calls, tokens and money, with their limits."""
    snapshot = context.runs.snapshot(run_name(request))
    blocks = [*cost_blocks(snapshot.view), *savings_blocks(snapshot.view), *_limits(snapshot.view)]
    steps = part_of(snapshot.view.steps, f"{snapshot.name.url}/spend", request.query_params)
    blocks += _by_step(snapshot.view, steps.rows)
    empty = "Nothing was spent yet."
    return run_page(snapshot, "report.html", "Spend", blocks=blocks, empty=empty, part=steps)


def _limits(view: RunView) -> Iterator[Block]:
    limits = view.run.limits if view.run else None
    if limits is None:
        return
    yield Heading("Limits")
    yield Line(limits_words(limits))
    yield from (Line(f"used: {words}") for words, _ in cap_words(view))
    for _, pace in sorted(view.pace.items()):
        yield Line(f"{pace_place(pace)}: {speed_words(pace)} ({one_line(pace.reason)})")
    for fact in view.refused:
        yield Line(f"{one_line(fact.model)} {refused_words(fact)}")


def _by_step(view: RunView, steps: Sequence[StepView]) -> Iterator[Block]:
    if not steps:
        return
    yield Heading("By step")
    priced = is_priced(view.spent)
    rows = []
    known = [(str(step.number), step.ledger.total) for step in steps]
    rest = _outside(view)
    for name, spent in known + ([("none", rest)] if rest.calls else []):
        tokens = "unknown" if spent.tokens is None else f"{spent.tokens:,}"
        money = (money_cell(spent),) if priced else ()
        rows.append((name, f"{spent.calls:,}", tokens, *money))
    titles = ("step", "calls", "tokens", *(("USD",) if priced else ()))
    yield Rows(titles, rows, range(1, len(titles)))
    if rest.calls:
        yield Line("none: baseline, tests and whatever else belongs to no step", "dim")


def _outside(view: RunView) -> Spent:
    """What was spent outside of all steps, so that the rows add up to the total."""
    whole, steps = view.spent, sum((step.ledger.total for step in view.steps), Spent())
    return Spent(
        whole.calls - steps.calls,
        prompt_tokens=_less(whole.prompt_tokens, steps.prompt_tokens),
        completion_tokens=_less(whole.completion_tokens, steps.completion_tokens),
        usd=None if whole.usd is None else round(whole.usd - (steps.usd or 0.0), 9),
        silent=whole.silent - steps.silent,
        unpriced=whole.unpriced - steps.unpriced,
    )


def _less(whole: int | None, part: int | None) -> int | None:
    return None if whole is None else whole - (part or 0)
