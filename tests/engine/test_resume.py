"""A run that dies anywhere and is resumed ends as if it had not died, and pays nothing twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.config.model_section import SimulatedConfig
from skillopt_cli.core.events import (
    BaselineMeasured,
    CallMade,
    GateDecided,
    RunFinished,
    RunStarted,
    Stamped,
)
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Attempt, ChatReply, ChatRequest, Task
from skillopt_cli.engine.session import train_session
from skillopt_cli.store.history import VOLATILE, fold_history
from skillopt_cli.testing import MemoryStore, Toy, ToyBenchmark, toy_session

BENCHMARK = ToyBenchmark({"train": 4, "selection": 4, "test": 1}, seed=24)
WORKERS, ANALYSTS = 2, 2
SETTINGS = (
    "train.batch_size=2",
    "gradient.minibatch_size=1",
    "optimizer.learning_rate=2",
    f"run.workers={WORKERS}",
    f"gradient.analyst_workers={ANALYSTS}",
)


class Died(Exception):
    """The process is gone."""


class Mortal:
    """A store that dies instead of its nth write of a kind, and whatever is asked of it after."""

    def __init__(self, inner: MemoryStore, kind: str, nth: int) -> None:
        self.inner, self.kind, self.left = inner, kind, nth
        self.writes: Counter[str] = Counter()

    def _live(self, kind: str) -> None:
        self.writes[kind] += 1
        self.left -= kind == self.kind
        if self.left <= 0:
            raise Died

    def load_state(self) -> TrainState | None:
        return self.inner.load_state()

    def facts(self) -> Iterator[Stamped]:
        return self.inner.facts()

    def recall(self, key: str, task: Task) -> Trajectory | None:
        return self.inner.recall(key, task)

    def recall_call(self, key: str) -> ChatReply | None:
        return self.inner.recall_call(key)

    def save_state(self, state: TrainState) -> None:
        self._live("save_state")
        self.inner.save_state(state)

    def append(self, fact: Stamped) -> None:
        self._live("append")
        self.inner.append(fact)

    def remember(self, key: str, trajectory: Trajectory) -> None:
        self._live("remember")
        self.inner.remember(key, trajectory)

    def remember_call(self, key: str, reply: ChatReply) -> None:
        self._live("remember_call")
        self.inner.remember_call(key, reply)

    def keep(self, path: str, text: str) -> None:
        self._live("keep")
        self.inner.keep(path, text)


class Counted:
    """The simulated model, which gives way before it answers and notes what was asked."""

    offers = frozenset({"json_schema"})

    def __init__(self) -> None:
        self._inner = Simulated(SimulatedConfig())
        self.name, self.fingerprint = self._inner.name, self._inner.fingerprint
        self.asked: list[str] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        if request.stage != "preflight":
            self.asked.append(request.key(self.fingerprint))
        await asyncio.sleep(0)
        return await self._inner.chat(request)


def live(store: Any, benchmark: ToyBenchmark = BENCHMARK) -> tuple[list[str], int]:
    """Start or resume a run; what was asked of the models, and how the run ended (-1: it died)."""
    model = Counted()
    toy = Toy(SETTINGS, target=model, optimizer=model, benchmark=benchmark)
    try:
        return model.asked, asyncio.run(train_session(toy_session(toy, store)))
    except Died:
        return model.asked, -1


class Whole:
    """An uninterrupted run, to be compared with."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.writes = Mortal(self.store, "", 1)
        self.asked, code = live(self.writes)
        assert code == 0
        self.outcome = outcome(self.store)


def outcome(store: MemoryStore) -> dict[str, object]:
    """All that must not depend on interruptions."""
    records = [
        {key: value for key, value in record.items() if key not in VOLATILE}
        for record in fold_history(store.facts())
    ]
    # How many attempts were in flight when a verdict was settled is a matter of timing.
    files = {p: t for p, t in store.files.items() if "/selection/" not in p}
    return {"state": store.load_state(), "records": records, "files": files}


@pytest.fixture(scope="module")
def whole() -> Whole:
    made = Whole()
    facts = [fact.event for fact in made.store.facts()]
    verdicts = {event.decision.verdict for event in facts if isinstance(event, GateDecided)}
    assert verdicts == {"new_best", "reject"}
    return made


def check_life_after(whole: Whole, kind: str, nth: int) -> None:
    store = MemoryStore()
    first, code = live(Mortal(store, kind, nth))
    assert code == -1
    journaled = set(store._calls)
    second, code = live(store)
    assert code == 0
    assert outcome(store) == whole.outcome
    # No call whose answer was journaled is made again, and only those in flight are.
    assert not journaled & set(second)
    repeated = Counter(first) & Counter(second)
    assert repeated.total() <= max(WORKERS, ANALYSTS)
    assert max(Counter(second).values(), default=0) <= 1


@pytest.mark.parametrize("kind", ["save_state", "remember", "remember_call"])
def test_dying_instead_of_any_checkpoint_or_journal_entry(whole: Whole, kind: str) -> None:
    count = whole.writes.writes[kind]
    assert count >= 5
    for nth in range(1, count + 1):
        check_life_after(whole, kind, nth)


def test_dying_instead_of_every_third_fact(whole: Whole) -> None:
    for number in range(1, len(whole.store.log) + 1, 3):
        check_life_after(whole, "append", number)


def test_dying_again_and_again(whole: Whole) -> None:
    store, lives = MemoryStore(), 0
    asked: list[str] = []
    while (one := live(Mortal(store, "remember_call", 3)))[1] == -1:
        asked += one[0]
        lives += 1
        assert lives < 60
    asked += one[0]
    assert outcome(store) == whole.outcome
    assert lives > 8
    assert Counter(asked).total() <= len(set(asked)) + lives * max(WORKERS, ANALYSTS)


def test_a_finished_run_has_nothing_left_to_do(whole: Whole) -> None:
    store = MemoryStore()
    live(store)
    asked, code = live(store)
    assert (asked, code) == ([], 0)
    assert outcome(store) == whole.outcome
    started = [f.event for f in store.facts() if isinstance(f.event, RunStarted)]
    assert [s.done for s in started] == [0, 4]


def test_facts_are_numbered_on(whole: Whole) -> None:
    store = MemoryStore()
    live(Mortal(store, "remember_call", 9))
    live(store)
    assert [fact.number for fact in store.facts()] == list(range(1, len(store.log) + 1))


class Hopeless(ToyBenchmark):
    """Nobody ever scores anything."""

    async def score(self, task: Task, attempt: Attempt) -> Score:
        return Score(0.0, 0.0, "wrong", ())


@pytest.mark.parametrize("nth", [2, 3])
def test_a_score_of_exactly_nought_is_a_score(nth: int) -> None:  # T4
    benchmark = Hopeless({"train": 4, "selection": 2, "test": 2})
    store = MemoryStore()
    live(Mortal(store, "save_state", nth), benchmark)
    state = store.load_state()
    assert state is not None
    assert (state.done, state.current.hard) == (nth - 2, 0.0)
    numbers = len(store.log)
    _, code = live(store, benchmark)
    assert code == 0
    later = [fact.event for fact in store.log[numbers:]]
    assert not any(isinstance(event, BaselineMeasured) for event in later)
    assert next(e for e in later if isinstance(e, RunStarted)).done == nth - 2
    # The step that was cut short is made of journaled calls alone.
    first_gate = next(i for i, e in enumerate(later) if isinstance(e, GateDecided))
    paid = [e for e in later[:first_gate] if isinstance(e, CallMade) and e.stage != "preflight"]
    assert paid == []
    assert isinstance(later[-1], RunFinished)
