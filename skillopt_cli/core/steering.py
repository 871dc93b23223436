"""What a person asked of a run that still counts: a fold over its facts. Pure.

Vetoes and hints name the step they are for, so a step that is done again, after a kill, meets the
same ones. A veto holds from its round on, until it is taken back. A pause ends with its process: a
person who resumes a run wants it to go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from skillopt_cli.core.edits import Edit, EditOutcome, Identity
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
    VetoDropped,
)
from skillopt_cli.core.events.control import PausePoint

Steered = EditVetoed | VetoDropped | HintGiven
"""Facts that can alter a text, and so belong to what a run can be repeated from."""

VETOED = "struck out by the person who runs this"


@dataclass(frozen=True, slots=True)
class Steering:
    """What was asked.

    Attributes:
        planned: whether the run is to pause when edits are chosen.
        paused: where the run is held; None while it is not.
        stopping: whether it is to stop.
        hints: all of the run, in order.
        vetoes: all of the run, and those that were taken back, in order.
    """

    planned: bool = False
    paused: PausePoint | None = None
    stopping: bool = False
    hints: tuple[HintGiven, ...] = ()
    vetoes: tuple[EditVetoed | VetoDropped, ...] = ()

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
            case EditVetoed() | VetoDropped():
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

    def vetoes_at(self, step: int, round: int) -> tuple[EditVetoed, ...]:
        """The vetoes that hold for a round's edits: its own and earlier ones not taken back."""
        held: list[EditVetoed] = []
        # By their rounds: a step that is done again states facts after those of later steps.
        for fact in sorted(self.vetoes, key=lambda fact: (fact.step, fact.round)):
            if (fact.step, fact.round) > (step, round):
                break
            if isinstance(fact, EditVetoed):
                held.append(fact)
            else:
                held = [veto for veto in held if veto.edit.identity != fact.edit.identity]
        return tuple(held)


def vetoed_among(edits: Sequence[Edit], vetoes: Iterable[EditVetoed]) -> dict[int, EditVetoed]:
    """The vetoes against edits, by the place of the edit, from 1; the first of several.

    A veto means every edit that makes the same change, whatever it rests on.
    """
    against: dict[Identity, EditVetoed] = {}
    for veto in vetoes:
        against.setdefault(veto.edit.identity, veto)
    return {
        number: against[edit.identity]
        for number, edit in enumerate(edits, 1)
        if edit.identity in against
    }


def struck(
    edits: Sequence[Edit], vetoes: Iterable[EditVetoed]
) -> tuple[tuple[Edit, ...], tuple[EditOutcome, ...]]:
    """The edits that are left, and the outcomes of those struck out."""
    out = vetoed_among(edits, vetoes)
    kept = tuple(edit for number, edit in enumerate(edits, 1) if number not in out)
    return kept, tuple(
        EditOutcome(edits[number - 1], "vetoed", veto.reason or VETOED)
        for number, veto in out.items()
    )
