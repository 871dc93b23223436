"""An earlier run, for a plan that is to be like it: what it measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from skillopt_cli.core.events import Role
from skillopt_cli.core.ledger import PREFLIGHT, Ledger, Spent
from skillopt_cli.engine.forecast import Assumptions, Course


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier run of the same benchmark measured.

    Attributes:
        run: its folder.
        steps: those of its plan; 0 for an evaluation.
        told: what it tells of things that a plan assumes.
        ledger: all its calls.
        models: by role.
    """

    run: str
    steps: int
    told: Assumptions
    ledger: Ledger
    models: Mapping[Role, str]

    def told_of(self, steps: int) -> Assumptions:
        """What it tells of a training of so many steps.

        Shares hold for a longer one as well, and so does a latency. The step that makes the best
        skill does not: nobody knows which of more steps it would be.
        """
        return self.told if steps == self.steps else replace(self.told, best_step=None)

    def calls(self, role: Role) -> dict[str, Spent]:
        """What the calls of a role cost, by stage; under "" those of all stages together.

        Only where a service counted tokens: else nothing was measured.
        """
        rows = self.ledger.rows.items()
        spent = {s: row for (of, s), row in rows if of == role and s != PREFLIGHT}
        spent[""] = self.ledger.at_work(role)
        return {s: row for s, row in spent.items() if row.calls > row.silent}

    def course(self, guessed: Course) -> Course:
        """How its attempts went, with the ends of a guess: another one may go otherwise."""
        attempts = self.ledger.rollouts
        if not attempts:
            return guessed
        turns, verdicts = (
            self.ledger.at_work(role).calls / attempts for role in ("target", "judge")
        )
        return Course(guessed.turns.likely(turns), guessed.verdicts.likely(verdicts))
