"""Facts about what a person asked of a run at work; who it was is not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.edits import Edit

PausePoint = Literal["now", "edits"]
"""Where a run is held: before its next model call, or when a step's edits are chosen."""


@dataclass(frozen=True, slots=True)
class PausePlanned:
    """The run is to pause when the next step's edits are chosen."""

    kind: Literal["pause_planned"] = "pause_planned"


@dataclass(frozen=True, slots=True)
class PauseDropped:
    """The plan of a pause is taken back. It also ends with the process."""

    kind: Literal["pause_dropped"] = "pause_dropped"


@dataclass(frozen=True, slots=True)
class RunPaused:
    """The run is held: no model call begins, those in flight end.

    Attributes:
        step: the step under way, 0 outside steps.
        at: "edits" where the step waits with its edits chosen and none applied.
    """

    step: int
    at: PausePoint
    kind: Literal["run_paused"] = "run_paused"


@dataclass(frozen=True, slots=True)
class RunContinued:
    """A pause ended. It also ends with the process."""

    kind: Literal["run_continued"] = "run_continued"


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The run is to stop: calls in flight end, and `RunFailed` follows."""

    kind: Literal["stop_requested"] = "stop_requested"


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """A limit was changed for the rest of this process.

    Attributes:
        key: such as "run.max_usd".
        before, value: None for a cap that is not set.
    """

    key: str
    before: float | None
    value: float | None
    kind: Literal["setting_changed"] = "setting_changed"


@dataclass(frozen=True, slots=True)
class EditVetoed:
    """A chosen edit was struck out before the candidate was made, and in what follows of the run.

    A later `VetoDropped` ends it.

    Attributes:
        number: its place among the chosen edits of the step's round, from 1.
        reason: in the person's words, empty when none were given.
    """

    step: int
    number: int
    edit: Edit
    reason: str = ""
    round: int = 1
    kind: Literal["edit_vetoed"] = "edit_vetoed"


@dataclass(frozen=True, slots=True)
class VetoDropped:
    """The vetoes of a chosen edit were taken back before the candidate was made.

    Attributes:
        number: its place among the chosen edits of the step's round, from 1.
    """

    step: int
    number: int
    edit: Edit
    round: int = 1
    kind: Literal["veto_dropped"] = "veto_dropped"


@dataclass(frozen=True, slots=True)
class HintGiven:
    """A hint for the optimizer was taken down. `step` is the one whose reflection reads it."""

    step: int
    text: str
    kind: Literal["hint_given"] = "hint_given"
