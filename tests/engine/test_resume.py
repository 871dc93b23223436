"""A run that dies anywhere and is resumed ends as if it had not died, and pays nothing twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from dying import Mortal, Whole, World, check_life_after, outcome

from skillopt_cli.core.events import (
    BaselineMeasured,
    CallMade,
    GateDecided,
    RunFinished,
    RunStarted,
)
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Task
from skillopt_cli.testing import MemoryStore, ToyBenchmark

BENCHMARK = ToyBenchmark({"train": 4, "selection": 4, "test": 1}, seed=35)
WORKERS, ANALYSTS = 2, 2
SETTINGS = (
    "train.batch_size=2",
    "gradient.minibatch_size=1",
    "optimizer.learning_rate=2",
    f"run.workers={WORKERS}",
    f"gradient.analyst_workers={ANALYSTS}",
)


WORLD = World(SETTINGS, BENCHMARK, WORKERS + ANALYSTS)


def live(store: Any, benchmark: ToyBenchmark = BENCHMARK) -> tuple[list[str], int]:
    return replace(WORLD, benchmark=benchmark).live(store)


@pytest.fixture(scope="module")
def whole() -> Whole:
    made = Whole(WORLD)
    facts = [fact.event for fact in made.store.facts()]
    verdicts = {event.decision.verdict for event in facts if isinstance(event, GateDecided)}
    assert verdicts == {"new_best", "reject"}
    return made


@pytest.mark.parametrize("kind", ["save_state", "remember", "remember_call"])
def test_dying_instead_of_any_checkpoint_or_journal_entry(whole: Whole, kind: str) -> None:
    count = whole.writes.writes[kind]
    assert count >= 5
    for nth in range(1, count + 1):
        check_life_after(whole, kind, nth)


@pytest.mark.slow
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
    assert Counter(asked).total() <= len(set(asked)) + lives * (WORKERS + ANALYSTS)


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
