"""What a run cost."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.requests import Request

from skillopt_cli.ui.limits import cap_words, limits_words, pace_place, refused_words, speed_words
from skillopt_cli.ui.page import Block, Heading, Line, Rows
from skillopt_cli.ui.report.cost import cost_blocks, is_priced, money_cell
from skillopt_cli.ui.report.savings import savings_blocks
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.words import one_line
from skillopt_cli.web.pages.framed import framed
from skillopt_cli.web.site import Page, Site, named


def page(site: Site, request: Request) -> Page:
    """Calls, tokens and money, and the limits they are kept to."""
    seen = site.runs.seen(named(request))
    blocks = [*cost_blocks(seen.view), *savings_blocks(seen.view), *_limits(seen.view)]
    blocks += _by_step(seen.view)
    return framed(seen, "told.html", "Spend", blocks=blocks, empty="Nothing was spent yet.")


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


def _by_step(view: RunView) -> Iterator[Block]:
    if not view.steps:
        return
    yield Heading("By step")
    priced = is_priced(view.spent)
    rows = []
    for step in view.steps:
        spent = step.ledger.total
        tokens = "unknown" if spent.tokens is None else f"{spent.tokens:,}"
        money = (money_cell(spent),) if priced else ()
        rows.append((str(step.number), f"{spent.calls:,}", tokens, *money))
    titles = ("step", "calls", "tokens", *(("USD",) if priced else ()))
    yield Rows(titles, rows, range(1, len(titles)))
