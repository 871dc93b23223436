"""A resume under changed conditions: no score is compared with one from other conditions."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from skillopt_cli.core.errors import Indecisive, ServerFailed
from skillopt_cli.core.events import (
    BaselineMeasured,
    CheckpointSaved,
    DriftAllowed,
    GateDecided,
    RolloutFinished,
    Stamped,
)
from skillopt_cli.core.score import Measured
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import train_session
from skillopt_cli.stages import measure
from skillopt_cli.testing import (
    EventLog,
    FunctionChat,
    MemoryStore,
    Toy,
    ToyBenchmark,
    toy_session,
)

BENCHMARK = ToyBenchmark({"train": 4, "selection": 6, "test": 1})
SETTINGS = (
    "train.batch_size=2",
    "train.num_epochs=1",
    "evaluation.sel_env_num=4",
    "evaluation.eval_test=false",
    "model.retry.max_attempts=1",
)


class Named(FunctionChat):
    """A target that answers by the length of its material; `shift` moves which tasks it gets."""

    def __init__(self, name: str, shift: int = 0) -> None:
        def answer(request: ChatRequest) -> ChatReply:
            read = request.messages[-1].content
            words = [word for word in read.split() if word.istitle()]
            return ChatReply(f"<answer>{words[(len(read) + shift) % len(words)]}</answer>")

        super().__init__(answer, name)


class Broken(FunctionChat):
    def __init__(self) -> None:
        super().__init__(self._fail, "broken")

    def _fail(self, request: ChatRequest) -> ChatReply:
        if request.stage == "preflight":
            return ChatReply("ok")
        raise ServerFailed("overloaded")


def adviser() -> FunctionChat:
    """Proposes another line each time."""
    said: list[str] = []

    def answer(request: ChatRequest) -> str:
        said.append(f"- advice {len(said)}")
        return json.dumps({"edits": [{"op": "append", "content": said[-1]}]})

    return FunctionChat(answer)


def allow(store: MemoryStore) -> None:
    """State what a resume states that goes on although conditions changed."""
    store.append(Stamped(store.last_number + 1, 0.0, DriftAllowed(("something",))))


async def trained(
    store: MemoryStore, settings: Sequence[str], target: FunctionChat
) -> tuple[EventLog, Measured, Measured]:
    """What a process did; what it began its steps with, and what a fresh measurement says."""
    log = EventLog()
    toy = Toy((*SETTINGS, *settings), target=target, optimizer=adviser(), benchmark=BENCHMARK)
    session = toy_session(toy, store, [Subscriber("log", log)])
    before = len(store.states)
    await train_session(session)
    state = store.states[before]
    return log, state.current, await measure(session.run, state.current.skill, "selection")


@pytest.mark.parametrize(
    "changed",
    [
        ("evaluation.sel_env_num=3",),
        ("evaluation.sel_env_num=6",),
        ("evaluation.gate_metric=soft",),
        ("train.seed=7",),
    ],
)
@pytest.mark.parametrize("target", [Named("one"), Named("other", 1)])
async def test_marks_of_other_conditions_are_never_compared_with(
    changed: Sequence[str], target: FunctionChat
) -> None:
    store = MemoryStore()
    await trained(store, (), Named("one"))
    allow(store)
    log, held, fresh = await trained(store, ("train.num_epochs=2", *changed), target)
    assert list(held.marks.items()) == list(fresh.marks.items())
    baseline = log.of(BaselineMeasured)[0]
    soft = "evaluation.gate_metric=soft" in changed
    assert baseline.n == held.n
    assert baseline.value == (baseline.soft if soft else baseline.hard)
    # The steps to come are compared with that, on the tasks of now.
    assert [fact.decision.n for fact in log.of(GateDecided)] == [held.n] * 2


async def test_what_the_journal_holds_is_not_attempted_again() -> None:
    store = MemoryStore()
    await trained(store, (), Named("one"))
    allow(store)
    log, _, _ = await trained(store, ("train.num_epochs=2",), Named("one"))
    assert log.of(BaselineMeasured)
    found = [made.recalled for made in log.of(RolloutFinished) if not made.step]
    assert all(found) and len(found) >= 8  # the current skill, and the seed


async def test_without_drift_nothing_is_measured_again() -> None:
    store = MemoryStore()
    await trained(store, (), Named("one"))
    log = EventLog()
    toy = Toy(SETTINGS, target=Named("one"), optimizer=adviser(), benchmark=BENCHMARK)
    await train_session(toy_session(toy, store, [Subscriber("log", log)]))
    assert (log.of(BaselineMeasured), log.of(CheckpointSaved)) == ([], [])


async def test_a_target_that_cannot_be_measured_ends_the_resume_and_keeps_the_checkpoint() -> None:
    store = MemoryStore()
    await trained(store, (), Named("one"))
    allow(store)
    states = list(store.states)
    with pytest.raises(Indecisive, match="current attempts"):
        await trained(store, ("train.num_epochs=2",), Broken())
    assert store.states == states
    # It comes back to it, although nothing changed since.
    log, held, fresh = await trained(store, ("train.num_epochs=2",), Named("third", 1))
    assert held.marks == fresh.marks
    assert log.of(BaselineMeasured)
