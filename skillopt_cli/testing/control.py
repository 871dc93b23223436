"""`ScriptedControl`: a person who steers a run, known beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillopt_cli.core.edits import Edit
from skillopt_cli.core.events import EditVetoed


@dataclass(frozen=True, slots=True)
class ScriptedControl:
    """A `Control` in memory that never keeps a run waiting.

    Attributes:
        told: hints by the step whose reflection reads them.
        struck: by step, the numbers of chosen edits to veto, from 1; those there are not are left.
    """

    told: Mapping[int, Sequence[str]] = field(default_factory=dict)
    struck: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def hints(self, step: int) -> tuple[str, ...]:
        """The step's hints."""
        return tuple(self.told.get(step, ()))

    async def review(self, step: int, edits: Sequence[Edit]) -> tuple[EditVetoed, ...]:
        """The step's vetoes."""
        numbers = [n for n in self.struck.get(step, ()) if 0 < n <= len(edits)]
        return tuple(EditVetoed(step, n, edits[n - 1]) for n in numbers)
