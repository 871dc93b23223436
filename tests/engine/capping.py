"""Runs under caps for the tests of it: what a model was asked, and how each process ended."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from dying import overlapped

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.core.caps import Use, cap_flag
from skillopt_cli.core.errors import AuthFailed, BudgetExhausted, ServerFailed
from skillopt_cli.core.events import (
    RunFailed,
    SkillPruned,
    StageStarted,
    TestMeasured,
    VerdictReached,
)
from skillopt_cli.core.ledger import ledger_of
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage
from skillopt_cli.engine.session import train_session
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import VOLATILE, history
from skillopt_cli.testing import MemoryStore, Toy, ToyBenchmark, toy_session

BENCHMARK = ToyBenchmark({"train": 6, "selection": 5, "test": 3}, seed=27)
WORKERS, ANALYSTS = 3, 2
SETTINGS = (
    "train.num_epochs=2",
    "train.batch_size=3",
    "gradient.minibatch_size=1",
    "gradient.merge_batch_size=2",
    "optimizer.learning_rate=2",
    "optimizer.slow_update_samples=4",
    f"run.workers={WORKERS}",
    f"gradient.analyst_workers={ANALYSTS}",
)
IN_FLIGHT = WORKERS + ANALYSTS


@dataclass(frozen=True)
class World:
    """The settings, the model and the tasks of a run."""

    settings: tuple[str, ...] = SETTINGS
    model: SimulatedConfig = field(default_factory=SimulatedConfig)
    benchmark: ToyBenchmark = BENCHMARK


PUBLISHED = World()


def price(usage: Usage) -> float:
    """US dollars; what is written costs four times what is read."""
    return ((usage.prompt_tokens or 0) + 4 * (usage.completion_tokens or 0)) / 1000


class Metering:
    """The simulated model; gives way before it answers, and counts what it was asked.

    Attributes:
        stops_at: the stage in which it refuses every call; "" for none.
    """

    offers = frozenset({"json_schema"})

    def __init__(
        self, every_fifth_fails: bool = False, model: SimulatedConfig = PUBLISHED.model
    ) -> None:
        self._inner = Simulated(model)
        self._faulty = every_fifth_fails
        self.name, self.fingerprint = self._inner.name, self._inner.fingerprint
        self.stops_at = ""
        self.asked: list[ChatRequest] = []
        self.paid: list[Usage] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        if self.stops_at and request.stage == self.stops_at:
            raise AuthFailed("the key was withdrawn")
        self.asked.append(request)
        await asyncio.sleep(0)
        if self._faulty and len(self.asked) % 5 == 0:
            usage = Usage(1, 3, 0) if len(self.asked) % 2 else None
            if usage:
                self.paid.append(usage)
            raise ServerFailed("every fifth call", usage=usage)
        reply = await self._inner.chat(request)
        self.paid.append(reply.usage)
        return reply

    @property
    def keys(self) -> Counter[str]:
        asked = (request for request in self.asked if request.stage != "preflight")
        return Counter(request.key(self.fingerprint) for request in asked)


class Life:
    """One process of a run: what was asked, and how it ended."""

    def __init__(
        self,
        store: MemoryStore,
        *settings: str,
        faulty: bool = False,
        world: World = PUBLISHED,
        stops_at: str = "",
    ) -> None:
        self.store, self.model = store, Metering(faulty, world.model)
        self.model.stops_at = stops_at
        self.first_fact = len(store.log)
        all_settings = (*world.settings, *settings)
        toy = Toy(all_settings, self.model, self.model, world.benchmark, price=price)
        self.code: int | None = None
        self.error: BudgetExhausted | None = None
        try:
            self.code = asyncio.run(train_session(overlapped(toy_session(toy, store))))
        except BudgetExhausted as error:
            self.error = error
        except AuthFailed:
            assert stops_at

    @property
    def events(self) -> list[Any]:
        return [fact.event for fact in self.store.log[self.first_fact :]]

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def outcome(store: MemoryStore) -> dict[str, object]:
    """All that a cap must not alter in the end."""
    records = [
        {key: value for key, value in record.items() if key not in VOLATILE}
        for record in history(fold(store.facts()))
    ]
    tests = [fact.event for fact in store.facts() if isinstance(fact.event, TestMeasured)][-3:]
    # A capped run is tested as well, so the last one of each kind counts.
    ends = {
        fact.event.kind: fact.event
        for fact in store.facts()
        if isinstance(fact.event, SkillPruned | VerdictReached)
    }
    return {
        "state": store.load_state(),
        "records": records,
        "tests": tests,
        "ends": ends,
        "best": store.files["best_skill.md"],
    }


class Whole:
    """The run without caps."""

    def __init__(self, world: World = PUBLISHED) -> None:
        self.world, self.store = world, MemoryStore()
        life = Life(self.store, world=world)
        assert life.code == 0
        self.outcome = outcome(self.store)
        self.use = Use(ledger_of(self.store.facts()))
        self.stages = {e.stage for e in life.of(StageStarted)}


def spent(store: MemoryStore, cap: str) -> float:
    return Use(ledger_of(store.facts())).of(cap)


def check_life_under(whole: Whole, cap: str, limit: float, *, faulty: bool = False) -> str:
    """Cap a run, take it up without one; returns the stage the cap hit."""
    store = MemoryStore()
    first = Life(store, f"run.{cap}={limit}", faulty=faulty, world=whole.world)
    assert first.error is not None, limit
    (stated,) = first.of(RunFailed)
    assert (stated.error, stated.exit_code, stated.resumable) == ("BudgetExhausted", 5, True)
    assert stated.message.startswith(f"{cap} of {limit}")
    assert f"{cap_flag(cap)} N" in stated.hint
    ledger = ledger_of(store.facts())
    dearest = {"max_tokens": ledger.most_tokens, "max_usd": ledger.most_usd}
    assert spent(store, cap) - limit <= IN_FLIGHT * dearest.get(cap, 0)
    started = first.of(StageStarted)
    hit = next((e.stage for e in reversed(started) if e.stage != "test"), "preflight")
    # What is asked again was answered before, or came to nothing.
    journaled = set(store._calls)
    second = Life(store, world=whole.world)
    assert second.code == 0
    assert not journaled & set(second.model.keys)
    assert outcome(store) == whole.outcome
    return hit
