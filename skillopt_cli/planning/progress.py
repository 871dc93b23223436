"""How far a run has come, and the work of it that needs not be made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt_cli.core.caps import Use
from skillopt_cli.core.events import Role, RunFinished
from skillopt_cli.core.ledger import Ledger
from skillopt_cli.planning.forecast import Amount, AttemptCalls, Range
from skillopt_cli.runlog.view import RunView

NOTHING_USED = Use(Ledger())


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        done: steps recorded for good; None before the baseline is.
        used: what its processes used.
        calls: those of what it stopped at, the baseline, a step or the test, by role and stage; the
            journal has their answers.
    """

    done: int | None = None
    used: Use = NOTHING_USED
    calls: Mapping[tuple[Role, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, view: RunView) -> Progress:
        """That of the run whose log adds up to this view."""
        done = view.done if view.saved else None
        return cls(done, Use(view.ledger, view.wall_time / 60), _calls_at_work(view))

    def made(self, attempt: AttemptCalls) -> Amount:
        """The work of these calls.

        Args:
            attempt: how many an attempt makes.
        """
        attempts, asked = {}, {}
        for (role, stage), calls in self.calls.items():
            if role == "target":
                attempts[stage] = Range.of(calls / attempt.turns.point)
            elif role == "optimizer":
                asked[stage] = Range.of(calls)
        return Amount(attempts, asked)


def _calls_at_work(view: RunView) -> dict[tuple[Role, str], int]:
    """Calls of what a run stopped at: the baseline, the step after the last recorded, the test."""
    if view.saved is None:
        ledger = view.ledger
    elif view.done < view.total_steps:
        # A cap may have ended it with a test, of a best skill that later steps may replace.
        step = view.step_at(view.done + 1)
        ledger = step.ledger if step else view.redone.get(view.done + 1, Ledger())
    elif not isinstance(view.ending, RunFinished):
        rows = view.ledger.rows
        ledger = Ledger({key: spent for key, spent in rows.items() if key[1] == "test"})
    else:
        ledger = Ledger()
    return {key: spent.calls for key, spent in ledger.rows.items()}
