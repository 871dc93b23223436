"""Steering a run: pauses hold calls, vetoes and hints count, and a kill loses none of them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.control import commands
from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Patch
from skillopt_cli.core.errors import BudgetExhausted, UsageError
from skillopt_cli.core.events import RunEvent, Stamped
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.controller import Controller
from skillopt_cli.engine.session import Session, train_session
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import VOLATILE, history
from skillopt_cli.stages.review import review
from skillopt_cli.testing import (
    EventLog,
    MemoryStore,
    ScriptedControl,
    Toy,
    toy_session,
)


class Model(Wrapper):
    """The simulated model, which remembers what it was asked and can be kept waiting."""

    def __init__(self) -> None:
        super().__init__(Simulated(SimulatedConfig()))
        self.asked: list[ChatRequest] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        await self.gate.wait()
        return await self._inner.chat(request)

    def texts(self, stage: str) -> list[str]:
        return [str(r.messages[-1].content) for r in self.asked if r.stage == stage]


class Desk:
    """A run with someone at the controls, who acts on facts as they come."""

    def __init__(
        self, store: MemoryStore | None = None, control: ScriptedControl | None = None
    ) -> None:
        self.log = EventLog()
        self.model = Model()
        self.store = store or MemoryStore()
        self.when: list[tuple[Callable[[RunEvent], bool], Callable[[], object]]] = []
        toy = Toy(optimizer=self.model, target=self.model, control=control)
        watch = (Subscriber("log", self.log), Subscriber("desk", self._act))
        self.session: Session = toy_session(toy, self.store, watch)

    @property
    def control(self) -> Controller:
        assert isinstance(self.session.run.control, Controller)
        return self.session.run.control

    def at(self, sign: Callable[[RunEvent], bool], *asked: commands.Command) -> None:
        """Give commands soon after the first fact that is the sign."""
        self.when.append((sign, lambda: [self.control.carry_out(each) for each in asked]))

    def _act(self, fact: Stamped) -> None:
        for entry in list(self.when):
            if entry[0](fact.event):
                self.when.remove(entry)
                asyncio.get_running_loop().call_soon(entry[1])

    def begin(self) -> asyncio.Task[int]:
        task = asyncio.get_running_loop().create_task(train_session(self.session))
        if not isinstance(self.session.run.control, ScriptedControl):
            self.control.ends_by(task.cancel)
        return task

    def result(self) -> dict[str, Any]:
        state = self.store.load_state()
        assert state is not None
        records = history(fold(self.store.facts()))
        return {
            "best": state.best.skill.text,
            "current": state.current.skill.text,
            "lessons": state.lessons,
            "history": [{k: v for k, v in r.items() if k not in VOLATILE} for r in records],
        }


def paused(event: RunEvent) -> bool:
    return isinstance(event, ev.RunPaused)


def chosen(event: RunEvent) -> bool:
    return isinstance(event, ev.StepStarted)


async def until(sign: Callable[[], bool]) -> None:
    for _ in range(100_000):
        if sign():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not happen")


async def killed_after(desk: Desk, fact: type[RunEvent]) -> Desk:
    """A run whose process is killed once a fact is stated; the one that takes it up again."""
    task = desk.begin()
    await until(lambda: bool(desk.log.of(fact)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # A process that is killed does not live to say so.
    assert isinstance(desk.store.log.pop().event, ev.RunFailed)
    return Desk(desk.store)


async def test_a_paused_run_begins_no_call_and_those_in_flight_end() -> None:
    desk = Desk()
    desk.model.gate.clear()
    task = desk.begin()
    desk.model.gate.set()
    await until(lambda: len(desk.log.of(ev.PreflightPassed)) == 2)
    desk.model.gate.clear()
    await until(lambda: desk.control.carry_out(commands.Status()).in_flight == 4)
    asked = len(desk.model.asked)
    answer = desk.control.carry_out(commands.Pause())
    assert (answer.paused, answer.in_flight) == ("now", 4)
    desk.model.gate.set()
    await until(lambda: desk.control.carry_out(commands.Status()).in_flight == 0)
    for _ in range(500):
        await asyncio.sleep(0)
    assert len(desk.model.asked) == asked
    assert not task.done()
    desk.control.carry_out(commands.Resume())
    assert await task == 0
    untouched = Desk()
    await untouched.begin()
    assert desk.result() == untouched.result()


async def test_without_commands_every_prompt_is_what_it_is_without_a_control() -> None:
    steered, alone = Desk(), Desk(control=ScriptedControl())
    await steered.begin()
    await alone.begin()
    assert [r.messages for r in steered.model.asked] == [r.messages for r in alone.model.asked]
    assert steered.result() == alone.result()


async def test_a_vetoed_edit_is_not_in_the_candidate_and_the_next_step_hears_of_it() -> None:
    desk = Desk()
    desk.at(chosen, commands.Pause("edits"))
    desk.at(paused, commands.Veto(1, "not  this\none"), commands.Resume())
    assert await desk.begin() == 0
    (veto,) = desk.log.of(ev.EditVetoed)
    assert (veto.step, veto.number, veto.reason) == (1, 1, "not this one")
    made = desk.log.of(ev.CandidateMade)[0]
    outcome = next(o for o in made.outcomes if o.state == "vetoed")
    assert (outcome.edit, outcome.reason) == (veto.edit, "not this one")
    assert veto.edit.content.strip() not in desk.store.files["steps/step_0001/candidate_skill.md"]
    report = json.loads(desk.store.files["steps/step_0001/edit_report.json"])
    assert [e["state"] for e in report].count("vetoed") == 1
    record = history(fold(desk.store.facts()))[0]
    assert record["edit_apply_summary"]["vetoed"] == 1
    told = "struck out these edits"
    reflections = desk.model.texts("reflect")
    assert any(told in text for text in reflections)
    assert not any(told in text for text in reflections[:2])


async def test_a_veto_holds_for_the_later_rounds_and_steps_of_the_run() -> None:
    desk = Desk()
    desk.at(chosen, commands.Pause("edits"))
    desk.at(paused, commands.Veto(1, "not this one"), commands.Resume())
    assert await desk.begin() == 0
    (veto,) = desk.log.of(ev.EditVetoed)
    again = replace(veto.edit, evidence="other failures", support=9)
    other = replace(veto.edit, content="- something else")
    first, second = (desk.session.run.at(desk.session.run.plan.step(n)) for n in (1, 2))
    for later in (first.in_round(2, ()), second):
        chosen_again = await review(later, Patch((other, again)))
        assert chosen_again.edits == (other,)
        (outcome,) = chosen_again.set_aside
        assert (outcome.edit, outcome.state, outcome.reason) == (again, "vetoed", "not this one")
        assert (await review(later, Patch((other,)))).edits == (other,)
    assert not [event for event in desk.log.of(ev.Degraded) if "veto" in event.reason]
    await review(first, Patch((other,)))
    assert [event for event in desk.log.of(ev.Degraded) if "veto" in event.reason]


async def test_a_step_all_of_whose_edits_are_vetoed_is_skipped() -> None:
    desk = Desk(control=ScriptedControl(vetoes={1: range(1, 20)}))
    await desk.begin()
    (skipped,) = [e for e in desk.log.of(ev.StepSkipped) if e.step == 1]
    assert skipped.counts is not None
    vetoed = dict(skipped.counts.states)["vetoed"]
    assert (
        skipped.reason == f"{vetoed} {'edit' if vetoed == 1 else 'edits'} chosen, every one vetoed"
    )


async def test_a_hint_is_one_line_of_the_next_reflection_only() -> None:
    desk = Desk()
    desk.at(lambda e: isinstance(e, ev.PatchesProposed), commands.Hint(" mind\n the units "))
    assert await desk.begin() == 0
    (hint,) = desk.log.of(ev.HintGiven)
    assert (hint.step, hint.text) == (2, "mind the units")
    line = "A hint from the person who runs this: mind the units"
    seen = [line in text.splitlines() for text in desk.model.texts("reflect")]
    assert 0 < seen.count(True) < len(seen) and not seen[0]
    assert not any(line in text for text in desk.model.texts("select"))
    with pytest.raises(UsageError, match="no reflection is left"):
        desk.control.carry_out(commands.Hint("too late"))


async def test_a_run_killed_after_veto_and_hint_ends_as_if_it_had_not_been() -> None:
    asked = (commands.Hint("mind the units"), commands.Veto(2, "no"))
    whole = Desk()
    whole.at(chosen, commands.Pause("edits"))
    whole.at(paused, *asked, commands.Resume())
    await whole.begin()

    killed = Desk()
    killed.at(chosen, commands.Pause("edits"))
    killed.at(paused, *asked)
    again = await killed_after(killed, ev.EditVetoed)
    assert await again.begin() == 0
    assert again.result() == whole.result()
    plain = Desk()
    await plain.begin()
    assert again.result() != plain.result()


async def test_a_run_whose_veto_is_taken_back_is_one_without_it_after_a_kill_too() -> None:
    plain = Desk()
    await plain.begin()
    asked = (commands.Veto(1, "a slip"), commands.Allow(1))
    whole = Desk()
    whole.at(chosen, commands.Pause("edits"))
    whole.at(paused, *asked, commands.Resume())
    await whole.begin()
    (dropped,) = whole.log.of(ev.VetoDropped)
    assert (dropped.step, dropped.number, dropped.round) == (1, 1, 1)
    assert whole.result() == plain.result()

    killed = Desk()
    killed.at(chosen, commands.Pause("edits"))
    killed.at(paused, *asked)
    again = await killed_after(killed, ev.VetoDropped)
    assert await again.begin() == 0
    assert again.result() == plain.result()


async def test_only_a_veto_of_an_edit_that_waits_is_taken_back() -> None:
    desk, said = Desk(), list[str]()

    def act() -> None:
        for command in (commands.Allow(1), commands.Veto(1), commands.Allow(9), commands.Veto(1)):
            try:
                desk.control.carry_out(command)
            except UsageError as error:
                said.append(f"{error.message}; {error.hint}")
        said.append(desk.control.carry_out(commands.Allow(1)).said)
        desk.control.carry_out(commands.Resume())

    desk.at(chosen, commands.Pause("edits"))
    desk.when.append((paused, act))
    assert await desk.begin() == 0
    assert said[0] == "edit 1 is not vetoed; `skillopt ctl RUN status` shows which are"
    assert said[1].startswith("there is no edit 9: ")
    assert said[2] == "edit 1 is vetoed already; `skillopt ctl RUN allow 1` allows it"
    assert said[3:] == ["edit 1 of step 1 is no longer struck out"]
    with pytest.raises(UsageError, match="no edits wait"):
        desk.control.carry_out(commands.Allow(1))


async def test_stop_lets_calls_in_flight_end_even_during_a_pause() -> None:
    desk = Desk()
    desk.at(chosen, commands.Pause("edits"))
    desk.at(paused, commands.Stop())
    with pytest.raises(asyncio.CancelledError):
        await desk.begin()
    (failed,) = desk.log.of(ev.RunFailed)
    assert (failed.exit_code, failed.resumable) == (130, True)
    assert len(desk.log.of(ev.StopRequested)) == 1
    assert await Desk(desk.store).begin() == 0


async def test_caps_can_be_set_and_lifted_under_way() -> None:
    desk = Desk()
    desk.at(chosen, commands.Set("run.max_calls", "30"), commands.Set("run.max-calls", "null"))
    assert await desk.begin() == 0
    assert [(e.before, e.value) for e in desk.log.of(ev.SettingChanged)] == [(None, 30), (30, None)]

    desk = Desk()
    desk.at(chosen, commands.Set("run.max_calls", "30"))
    with pytest.raises(BudgetExhausted, match="max_calls of 30"):
        await desk.begin()
    assert len(desk.log.of(ev.CallMade)) <= 30


@pytest.mark.parametrize(
    ("key", "value", "used"),
    [
        ("run.max_calls", "3", "{calls} calls"),
        ("run.max_rollouts", "3", r"\d+ rollouts"),
        ("run.max_tokens", "3", r"[\d,]+ tokens"),
        ("run.max_minutes", "1e-12", r"[\d.e-]+ minutes"),
        ("run.max_calls", "5000", ""),
        ("run.max_calls", "null", ""),
    ],
)
@pytest.mark.parametrize("held", [False, True])
async def test_a_cap_below_the_use_so_far_is_answered_with_that_use(
    key: str, value: str, used: str, *, held: bool
) -> None:
    desk, said = Desk(), list[str]()

    def act() -> None:
        if held:
            desk.control.carry_out(commands.Pause())
        said.append(desk.control.carry_out(commands.Set(key, value)).said)
        said.append(str(len(desk.log.of(ev.CallMade))))
        if held:
            desk.control.carry_out(commands.Resume())

    desk.when.append((chosen, act))
    if used:
        with pytest.raises(BudgetExhausted):
            await desk.begin()
        ends = "once it is resumed" if held else "at once"
        end = f"; the run has used {used.format(calls=said[1])} already, so it ends {ends}"
    else:
        assert await desk.begin() == 0
        end = ""
    stands = "lifted" if value == "null" else value
    assert re.fullmatch(f"{key} is {stands} now{end}", said[0]), said[0]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (commands.Veto(1), "no edits wait"),
        (commands.Resume(), "not paused"),
        (commands.Hint("  \n "), "empty"),
        (commands.Set("run.workers", "2"), "cannot be changed"),
        (commands.Set("run.max_call", "2"), "there is no setting `run.max_call`"),
        (commands.Set("train.seed", "2"), "cannot be changed"),
        (commands.Set("run.max_calls", "many"), "^`run.max_calls` must be a whole number"),
        (commands.Set("run.max_concurrency", "0"), "run.max_concurrency"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_leaves_no_fact(
    command: commands.Command, said: str
) -> None:
    desk = Desk()
    with pytest.raises(UsageError, match=said):
        desk.control.carry_out(command)
    assert desk.log.facts == []
