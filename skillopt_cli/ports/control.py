"""The seam through which a person steers a run while it works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from skillopt_cli.core.edits import Edit
from skillopt_cli.core.events import EditVetoed


class Control(Protocol):
    """A collaborator that stages ask where a person may intervene. What it raises ends the run."""

    def hints(self, step: int) -> tuple[str, ...]:
        """The hints for a step's reflection, which begins now; later ones are for the next step."""
        ...

    async def review(self, step: int, round: int, edits: Sequence[Edit]) -> tuple[EditVetoed, ...]:
        """The vetoes that hold for the edits chosen in a step's round, from 1.

        Returns late where a person wants time.
        """
        ...


class Unsteered:
    """Nobody steers."""

    def hints(self, step: int) -> tuple[str, ...]:
        """None."""
        return ()

    async def review(self, step: int, round: int, edits: Sequence[Edit]) -> tuple[EditVetoed, ...]:
        """None, at once."""
        return ()
