"""What a person asked of a run that still counts: a fold over its facts. Pure.

Vetoes and hints name the step they are for, so a step that is done again, after a kill, meets the
same ones. A pause ends with its process: a person who resumes a run wants it to go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.events import (
    EditVetoed,
    HintGiven,
    PauseDropped,
    PausePlanned,
    RunContinued,
    RunEvent,
    RunFailed,
    RunFinished,
    RunPaused,
    RunStarted,
    StopRequested,
)
from skillopt_cli.core.events.control import PausePoint

Steered = EditVetoed | HintGiven
"""Facts that can alter a text, and so belong to what a run can be repeated from."""

VETOED = "struck out by the person who runs this"


@dataclass(frozen=True, slots=True)
class Steering:
    """What was asked.

    Attributes:
        planned: whether the run is to pause when edits are chosen.
        paused: where the run is held; None while it is not.
        stopping: whether it is to stop.
        hints, vetoes: all of the run, in order.
    """

    planned: bool = False
    paused: PausePoint | None = None
    stopping: bool = False
    hints: tuple[HintGiven, ...] = ()
    vetoes: tuple[EditVetoed, ...] = ()

    def after(self, event: RunEvent) -> Steering:
        """The steering once `event` is heard."""
        match event:
            case RunStarted() | RunFinished() | RunFailed():
                return self.at_rest
            case PausePlanned():
                return replace(self, planned=True)
            case PauseDropped():
                return replace(self, planned=False)
            case RunPaused(at=at):
                return replace(self, planned=self.planned and at == "now", paused=at)
            case RunContinued():
                # A pause that is planned on top of another outlives that one.
                return replace(self, paused=None)
            case StopRequested():
                return replace(self, stopping=True)
            case HintGiven():
                return replace(self, hints=(*self.hints, event))
            case EditVetoed():
                return replace(self, vetoes=(*self.vetoes, event))
        return self

    @property
    def at_rest(self) -> Steering:
        """What is left of it once its process is gone."""
        return replace(self, planned=False, paused=None, stopping=False)

    @property
    def lasting(self) -> tuple[Steered, ...]:
        """What can alter a text, hints first."""
        return (*self.hints, *self.vetoes)

    def hints_for(self, step: int) -> tuple[str, ...]:
        """The hints that a step's reflection reads, in the order they were given."""
        return tuple(hint.text for hint in self.hints if hint.step == step)

    def vetoes_of(self, step: int) -> tuple[EditVetoed, ...]:
        """The vetoes of a step; of several against one edit the first."""
        found: dict[int, EditVetoed] = {}
        for veto in self.vetoes:
            if veto.step == step:
                found.setdefault(veto.number, veto)
        return tuple(found[number] for number in sorted(found))


def struck(
    edits: Sequence[Edit], vetoes: Iterable[EditVetoed]
) -> tuple[tuple[Edit, ...], tuple[EditOutcome, ...]]:
    """The edits that are left, and the outcomes of those struck out.

    A veto means one edit at one place. Where another edit is there now, as under changed
    conditions, it strikes nothing out.
    """
    by_place = {veto.number: veto for veto in vetoes}
    kept: list[Edit] = []
    out: list[EditOutcome] = []
    for number, edit in enumerate(edits, 1):
        veto = by_place.get(number)
        if veto is not None and veto.edit == edit:
            out.append(EditOutcome(edit, "vetoed", veto.reason or VETOED))
        else:
            kept.append(edit)
    return tuple(kept), tuple(out)
