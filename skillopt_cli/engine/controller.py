"""The controller: carries out what a person asks of a run at work, and states it as facts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from skillopt_cli.backends.middleware.budget import Budget
from skillopt_cli.backends.rate_limiter.stop_gate import StopGate
from skillopt_cli.config.declarations import live_settings, own_settings
from skillopt_cli.config.layers import Strength, leaf_layer, resolve
from skillopt_cli.config.suggestions import suggestion
from skillopt_cli.control import commands
from skillopt_cli.control.commands import PAUSE_PLANNED, Command, ControlReply
from skillopt_cli.core.caps import CAPS, cap_flag
from skillopt_cli.core.edits import Edit
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import (
    EditVetoed,
    HintGiven,
    PauseDropped,
    PausePlanned,
    RunContinued,
    RunEvent,
    RunPaused,
    SettingChanged,
    StopRequested,
    VetoDropped,
)
from skillopt_cli.core.events.control import PausePoint
from skillopt_cli.core.formatting import count
from skillopt_cli.core.steering import Steering, vetoed_among
from skillopt_cli.ports import Emit

CONCURRENCY = "run.max_concurrency"


@dataclass(frozen=True, slots=True)
class RunPosition:
    """What of a run's plan decides which commands make sense.

    Attributes:
        done: steps recorded.
        total: steps planned; 0 for an evaluation.
        asks: whether the optimizer is a model, which can read hints.
    """

    done: int
    total: int
    asks: bool


@dataclass(frozen=True, slots=True)
class RunControls:
    """What a controller acts on.

    Attributes:
        ceiling: most calls in flight per provider, to begin with.
        limit: changes it.
        hide: gives a text without the secrets in it.
    """

    emit: Emit
    stop_gate: StopGate
    budget: Budget
    ceiling: int
    limit: Callable[[int], None] = lambda ceiling: None
    hide: Callable[[str], str] = str


class Controller:
    """A `Control` that people give commands to. Every command that alters something is a fact.

    The fact is stated before the command takes effect and before it is answered, so every answered
    command is in the log, and a run that is resumed after a kill follows it as well.

    Args:
        steering: what was asked of earlier processes of the run.
    """

    def __init__(self, controls: RunControls, position: RunPosition, steering: Steering) -> None:
        self._controls = controls
        self._position = position
        self._steering = steering.at_rest
        self._ceiling = controls.ceiling
        self._step, self._round = position.done, 1
        self._reflected = position.done
        self._edits: tuple[Edit, ...] = ()
        self._news = asyncio.Event()
        self._end: Callable[[], object] = lambda: None

    def ends_by(self, end: Callable[[], object]) -> None:
        """Name what ends the run once a stop has let the calls in flight finish."""
        self._end = end

    def stop(self) -> None:
        """Begin no more calls, and end the run when none is in flight."""
        self._controls.stop_gate.close(self._end)

    def hints(self, step: int) -> tuple[str, ...]:
        """The hints for a step's reflection, which begins now; later ones are for the next step."""
        self._step = self._reflected = step
        return self._steering.hints_for(step)

    async def review(self, step: int, round: int, edits: Sequence[Edit]) -> tuple[EditVetoed, ...]:
        """The vetoes that hold for a round's chosen edits, once no pause keeps the step here."""
        self._step, self._round, self._edits = step, round, tuple(edits)
        if self._steering.planned and self._steering.paused is None:
            self._hold("edits")
        while self._steering.paused is not None:
            self._news.clear()
            await self._news.wait()
        self._edits = ()
        return self._steering.vetoes_at(step, round)

    def carry_out(self, command: Command) -> ControlReply:
        """Do what a command asks.

        Raises:
            UsageError: it makes no sense now; nothing was changed.
        """
        match command:
            case commands.Status():
                said = ""
            case commands.Pause(at=at):
                said = self._pause(at)
            case commands.Resume(at=at):
                said = self._resume(at)
            case commands.Stop():
                said = self._stop()
            case commands.Set(key=key, value=value):
                said = self._set(key, value)
            case commands.Veto(number=number, reason=reason):
                said = self._veto(number, reason)
            case commands.Allow(number=number):
                said = self._allow(number)
            case commands.Hint(text=text):
                said = self._hint(text)
        steering = self._steering
        return ControlReply(
            said=said,
            pid=os.getpid(),
            in_flight=self._controls.stop_gate.inside,
            paused=steering.paused,
            planned=steering.planned,
            stopping=steering.stopping,
            max_concurrency=self._ceiling,
            caps={cap.name: cap.limit for cap in self._controls.budget.caps},
        )

    def _tell(self, event: RunEvent) -> None:
        self._controls.emit(event)
        self._steering = self._steering.after(event)

    def _pause(self, at: PausePoint) -> str:
        if self._steering.stopping:
            raise UsageError("the run is stopping", "`skillopt resume RUN` continues it")
        if at == "now":
            if self._steering.paused is not None:
                raise UsageError("the run is paused already", "`skillopt ctl RUN resume` goes on")
            self._hold("now")
            return "paused: calls in flight end, no other begins"
        if self._steering.planned:
            raise UsageError(
                "a pause is planned already", "`skillopt ctl RUN resume --at edits` takes it back"
            )
        if not self._position.total:
            raise UsageError("an evaluation chooses no edits", "pause it as it is")
        self._tell(PausePlanned())
        return PAUSE_PLANNED

    def _hold(self, at: PausePoint) -> None:
        self._tell(RunPaused(self._step, at))
        self._controls.stop_gate.hold()
        self._controls.budget.hold()

    def _resume(self, at: PausePoint) -> str:
        if at == "edits" or self._steering.paused is None:
            if not self._steering.planned:
                what = "no pause is planned" if at == "edits" else "the run is not paused"
                raise UsageError(what, "`skillopt ctl RUN status` shows its state")
            self._tell(PauseDropped())
            return "the planned pause is cancelled"
        self._tell(RunContinued())
        self._controls.budget.go_on()
        self._controls.stop_gate.release()
        self._news.set()
        return "the run goes on"

    def _stop(self) -> str:
        if not self._steering.stopping:
            self._tell(StopRequested())
            self.stop()
        return f"stopping: {count(self._controls.stop_gate.inside, 'call')} in flight may finish"

    def _set(self, key: str, value: str) -> str:
        key = key.strip().replace("-", "_")
        if key not in (live := live_settings()):
            if key.partition(".")[0] == "run" and key not in own_settings():
                raise UsageError(f"there is no setting `{key}`", suggestion(key, live))
            raise UsageError(
                f"`{key}` cannot be changed while the run works", f"these can: {', '.join(live)}"
            )
        layer = leaf_layer("", key, value, Strength.FLAG)
        name = key.removeprefix("run.")
        wanted = getattr(resolve([layer]).config.run, name)
        if name in CAPS:
            before = self._cap_now(name)
            self._check_counts(name, wanted)
            self._tell(SettingChanged(key, before, wanted))
            self._controls.budget.cap(name, wanted)
            shown = "lifted" if wanted is None else f"{wanted:.10g}"
            return f"{key} is {shown} now{self._used_up(name, wanted)}"
        self._tell(SettingChanged(key, self._ceiling, wanted))
        self._ceiling = wanted
        self._controls.limit(wanted)
        return f"{key} is {wanted} now"

    def _used_up(self, name: str, limit: float | None) -> str:
        """That the use so far reaches a cap, to end a sentence with; empty where it does not."""
        used = self._controls.budget.use.of(name)
        if limit is None or used < limit:
            return ""
        unit = name.removeprefix("max_")
        if name in ("max_usd", "max_minutes"):
            amount = f"{round(used, 4):,.10g} {'USD' if name == 'max_usd' else unit}"
        else:
            amount = count(int(used), unit.removesuffix("s"))
        # A pause holds the calls in flight, which end before the run does.
        ends = "at once" if self._steering.paused is None else "once it is resumed"
        return f"; the run has used {amount} already, so it ends {ends}"

    def _cap_now(self, name: str) -> float | None:
        budget = self._controls.budget
        if budget.reached is not None:
            raise UsageError(
                f"{budget.reached} was reached, the run is ending",
                f"`skillopt resume RUN {cap_flag(budget.reached.name)} N` goes on up to a higher N",
            )
        return next((cap.limit for cap in budget.caps if cap.name == name), None)

    def _check_counts(self, name: str, limit: float | None) -> None:
        total = self._controls.budget.use.ledger.total
        unknown = {"max_usd": total.unpriced, "max_tokens": total.silent}.get(name, 0)
        if limit is not None and unknown:
            raise UsageError(
                f"run.{name} cannot be kept: {count(unknown, 'call')} did not tell what it counts",
                "set run.max_calls instead",
            )

    def _veto(self, number: int, reason: str) -> str:
        edit, vetoed = self._chosen(number)
        if vetoed:
            raise UsageError(
                f"edit {number} is vetoed already", f"`skillopt ctl RUN allow {number}` allows it"
            )
        reason = self._clean(reason, "reason")
        self._tell(EditVetoed(self._step, number, edit, reason, self._round))
        return f"edit {number} of step {self._step} is struck out"

    def _allow(self, number: int) -> str:
        edit, vetoed = self._chosen(number)
        if not vetoed:
            raise UsageError(
                f"edit {number} is not vetoed", "`skillopt ctl RUN status` shows which are"
            )
        self._tell(VetoDropped(self._step, number, edit, self._round))
        return f"edit {number} of step {self._step} is no longer struck out"

    def _chosen(self, number: int) -> tuple[Edit, bool]:
        """The edit with this number that waits to be applied, and whether it is vetoed."""
        if not self._edits:
            raise UsageError(
                "no edits wait to be applied now",
                "`skillopt ctl RUN pause --at edits` has the run wait there",
            )
        if number > len(self._edits):
            raise UsageError(
                f"there is no edit {number}: {count(len(self._edits), 'edit')} are chosen",
                "`skillopt ctl RUN status` lists them",
            )
        vetoed = vetoed_among(self._edits, self._steering.vetoes_at(self._step, self._round))
        return self._edits[number - 1], number in vetoed

    def _hint(self, text: str) -> str:
        step = self._reflected + 1
        if not self._position.asks:
            raise UsageError("nobody would read the hint: this run's optimizer is no model")
        if step > self._position.total:
            raise UsageError("nobody would read the hint: no reflection is left in this run")
        text = self._clean(text, "hint")
        if not text:
            raise UsageError("the hint is empty", "say what the optimizer should know")
        self._tell(HintGiven(step, text))
        return f"the reflection of step {step} will read it"

    def _clean(self, text: str, what: str) -> str:
        """The text on one line."""
        line = " ".join(text.split())
        if self._controls.hide(line) != line:
            raise UsageError(f"the {what} holds a key", "keys stay in environment variables")
        return line


def missing_steering(steering: Iterable[RunEvent], known: Steering) -> tuple[RunEvent, ...]:
    """The facts of a recorded run's steering that a log lacks."""
    # A veto that was taken back may have been given again, as the same fact.
    left = list(known.lasting)
    missing: list[RunEvent] = []
    for fact in steering:
        if fact in left:
            left.remove(fact)
        else:
            missing.append(fact)
    return tuple(missing)
