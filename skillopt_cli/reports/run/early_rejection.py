"""What early rejection saved, from counted facts only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.ledger import Spent
from skillopt_cli.reports.page import Block, Heading, Line
from skillopt_cli.runlog.costs import Document, spend_document
from skillopt_cli.runlog.text.format import count
from skillopt_cli.runlog.text.spend import spend_words
from skillopt_cli.runlog.view import RunView


@dataclass(frozen=True, slots=True)
class Savings:
    """Measurements of candidates, and of texts with new guidance, on the selection split.

    Attributes:
        measurements, early: how many there were, and how many of them were settled early.
        attempts: made for them or recalled from the journal.
        saved: attempts that were not needed.
        under_way: attempts that were not needed but under way when a measurement was settled.
        spend: what the target's calls for them cost.
    """

    measurements: int
    early: int
    attempts: int
    saved: int
    under_way: int
    spend: Spent

    @property
    def without(self) -> int:
        """Attempts that the same measurements take without early rejection."""
        return self.attempts + self.saved

    @property
    def document(self) -> Document:
        """The counts as JSON. What the saved attempts would have cost is not known."""
        return {
            "measurements": self.measurements,
            "settled_early": self.early,
            "attempts": self.attempts,
            "attempts_without": self.without,
            "rollouts_saved": self.saved,
            "rollouts_under_way": self.under_way,
            "spend": spend_document(self.spend),
        }


def savings(view: RunView) -> Savings:
    """What measuring candidates took in a run, and what early rejection made unnecessary."""
    measured: list[tuple[GateDecision | None, int]] = [
        *((step.decision, step.measured) for step in view.steps),
        *((epoch.decision, epoch.measured) for epoch in view.epochs),
    ]
    early = [(decision, made) for decision, made in measured if decision and decision.early]
    spent = [step.ledger.rows.get(("target", "measure"), Spent()) for step in view.steps]
    return Savings(
        measurements=sum(made > 0 for _, made in measured),
        early=len(early),
        attempts=sum(made for _, made in measured),
        saved=view.rollouts_saved,
        under_way=sum(max(0, made - decision.scored) for decision, made in early),
        spend=sum(spent, Spent()),
    )


def savings_blocks(view: RunView) -> Iterator[Block]:
    """The section on early rejection; nothing for a run that measured no candidate."""
    found = savings(view)
    if not found.measurements:
        return
    yield Heading("Early rejection")
    more = f", {count(found.under_way, 'attempt')} under way by then" if found.under_way else ""
    yield Line(f"{found.early} of {count(found.measurements, 'measurement')} settled early{more}")
    yield Line(
        f"{count(found.attempts, 'attempt')} at selection tasks;"
        f" without early rejection {found.without:,}, so {found.saved:,} saved"
    )
    unknown = "; what the saved attempts would have cost is not known" if found.saved else ""
    yield Line(f"spent on them: {spend_words(found.spend)}{unknown}")
