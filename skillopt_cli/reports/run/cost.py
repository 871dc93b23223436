"""What a run cost: by role and stage, per step, and per point of gain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from skillopt_cli.core.ledger import Ledger, Spent
from skillopt_cli.reports.page import Block, Heading, Line, Rows
from skillopt_cli.runlog.costs import Document, spend_document
from skillopt_cli.runlog.text.format import UNKNOWN, count, dollars, pair, plain_words
from skillopt_cli.runlog.text.spend import less
from skillopt_cli.runlog.view import RunView


@dataclass(frozen=True, slots=True)
class Gain:
    """What the training gained on the selection split, and what that took.

    Attributes:
        points: best minus baseline under the gate metric, in hundredths.
        spend: all calls but those of the final tests.
    """

    baseline: float
    best: float
    spend: Spent

    @property
    def points(self) -> float:
        """Best minus baseline in hundredths; above zero."""
        return (self.best - self.baseline) * 100

    @property
    def document(self) -> Document:
        """The gain and its cost per point as JSON; None where a part is unknown."""
        spend, points = self.spend, self.points
        exact = spend.usd if not spend.unpriced else None
        tokens = spend.tokens if not spend.silent else None
        return {
            "points": round(points, 6),
            "calls_per_point": round(spend.calls / points, 3),
            "tokens_per_point": None if tokens is None else round(tokens / points, 3),
            "usd_per_point": None if exact is None else round(exact / points, 9),
        }

    @property
    def line(self) -> str:
        """The gain and its cost per point in words."""
        best, base = pair(self.best, self.baseline)
        each = _each(self.spend, self.points)
        return f"a point of val score (0.01; best {best} from {base}): {each}, tests not counted"


def gain_of(view: RunView) -> Gain | None:
    """What was gained, None for a run without a gain that was measured."""
    base = view.baseline.value if view.baseline else None
    best = view.standing.best
    if base is None or best is None or best <= base:
        return None
    tests = _total(s for (_, stage), s in view.ledger.rows.items() if stage == "test")
    return Gain(base, best, less(view.spent, tests))


def estimate(ledger: Ledger) -> float | None:
    """All calls in US dollars, those of unknown price by the mean of the others of their stage.

    None where nothing is unknown, or where no call of a stage has a price.
    """
    if not any(part.unpriced for part in ledger.rows.values()):
        return None
    total = 0.0
    for part in ledger.rows.values():
        priced = part.calls - part.unpriced
        if part.unpriced and (priced <= 0 or part.usd is None):
            return None
        total += (part.usd or 0.0) * (1 + part.unpriced / priced if part.unpriced else 1)
    return total


def cost_document(view: RunView) -> Document:
    """What a run cost as JSON; sums as in `summary.json`."""
    gain, guess, rows = gain_of(view), estimate(view.ledger), view.ledger.rows
    return {
        "by_role_and_stage": {
            role: {stage: spend_document(rows[role, stage]) for stage in _stages(view, role)}
            for role in sorted(view.ledger.roles)
        },
        "in_steps": spend_document(_in_steps(view)),
        "usd_estimate": None if guess is None else round(guess, 9),
        "per_point_of_gain": gain.document if gain else None,
    }


def is_priced(spend: Spent) -> bool:
    """Whether there is anything to say of money: where all is free there is not."""
    return bool(spend.usd or spend.unpriced)


def cost_blocks(view: RunView) -> Iterator[Block]:
    """The section on cost; nothing for a run that called no model."""
    if not view.ledger.rows:
        return
    yield Heading("Cost")
    yield _table(view)
    if n := sum(step.decided for step in view.steps):
        spend = _total(step.ledger.total for step in view.steps if step.decided)
        yield Line(f"a step: {_each(spend, n)}, the mean of {n}")
    if gain := gain_of(view):
        yield Line(gain.line)
    yield from _gaps(view)


def _table(view: RunView) -> Rows:
    """Spend by role and stage; columns that have nothing to tell are left out."""
    places = [(role, stage) for role in view.ledger.roles for stage in _stages(view, role)]
    total = view.spent
    cached = total.cached_tokens is not None
    priced = is_priced(total)

    def cells(spend: Spent) -> tuple[str, ...]:
        known = spend.tokens
        floor = "at least " if spend.silent and known is not None else ""
        return (
            f"{spend.calls:,}",
            UNKNOWN if known is None and spend.silent else f"{floor}{known or 0:,}",
            *((_shown(spend.cached_tokens),) if cached else ()),
            *((money_cell(spend),) if priced else ()),
        )

    rows = [
        (role, plain_words(stage), *cells(view.ledger.rows[role, stage])) for role, stage in places
    ]
    more = (*(("cached",) if cached else ()), *(("USD",) if priced else ()))
    titles = ("role", "stage", "calls", "tokens", *more)
    return Rows(titles, [*rows, ("all", "", *cells(total))], range(2, len(titles)))


def _gaps(view: RunView) -> Iterator[Block]:
    """What is not known of the cost."""
    total, guess = view.spent, estimate(view.ledger)
    if total.silent:
        yield Line(f"{count(total.silent, 'call')} without token counts", "yellow")
    if total.unpriced:
        hint = (
            "the models' prices can be set under `model.prices`"
            if guess is None
            else f"about {dollars(guess)} in all, at the mean price of the other calls"
        )
        yield Line(f"{count(total.unpriced, 'call')} of unknown price; {hint}", "yellow")


def _each(spend: Spent, n: float) -> str:
    """One part in `n` of a spend, in words."""
    parts = [f"{spend.calls / n:,.1f} calls"]
    if (total := spend.tokens) is not None:
        parts.append(f"{'at least ' if spend.silent else ''}{total / n:,.0f} tokens")
    if spend.usd:
        parts.append(f"{'at least ' if spend.unpriced else ''}{dollars(spend.usd / n)}")
    elif spend.unpriced:
        parts.append(f"price {UNKNOWN}")
    return ", ".join(parts)


def _shown(n: int | None) -> str:
    return "" if n is None else f"{n:,}"


def money_cell(spend: Spent) -> str:
    """The price for a column of prices."""
    if spend.usd:
        return f"{'at least ' if spend.unpriced else ''}{dollars(spend.usd)}"
    return UNKNOWN if spend.unpriced else "0"


def _stages(view: RunView, role: str) -> list[str]:
    return sorted(stage for place, stage in view.ledger.rows if place == role)


def _in_steps(view: RunView) -> Spent:
    return _total(step.ledger.total for step in view.steps)


def _total(parts: Iterable[Spent]) -> Spent:
    return sum(parts, Spent())
