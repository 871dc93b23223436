"""Processes that die at a write to their store, and what is asked after it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.core.events import StageFinished, StageStarted, Stamped
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import ChatReply, ChatRequest, Task
from skillopt_cli.engine.session import Session, train_session
from skillopt_cli.ports import Stored
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import VOLATILE, history
from skillopt_cli.stages.overlap import Overlap
from skillopt_cli.testing import MemoryStore, Toy, ToyBenchmark, toy_session


class Died(Exception):
    """The process is gone."""


class Mortal:
    """A store that dies instead of its nth write of a kind, and whatever is asked of it after.

    Attributes:
        writes: how often each kind was written.
        during: kind and number of each write, by the stage it was written in.
    """

    def __init__(self, inner: MemoryStore, kind: str, nth: int) -> None:
        self.inner, self.kind, self.left = inner, kind, nth
        self.writes: Counter[str] = Counter()
        self.during: dict[str, list[tuple[str, int]]] = {}
        self._stage = ""

    def _live(self, kind: str) -> None:
        self.writes[kind] += 1
        self.during.setdefault(self._stage, []).append((kind, self.writes[kind]))
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

    async def fetch(self, kind: Stored, key: str) -> None:
        await self.inner.fetch(kind, key)

    async def flush(self) -> None:
        await self.inner.flush()

    def save_state(self, state: TrainState) -> None:
        self._live("save_state")
        self.inner.save_state(state)

    def append(self, fact: Stamped) -> None:
        self._live("append")
        if isinstance(fact.event, StageStarted | StageFinished):
            self._stage = fact.event.stage if isinstance(fact.event, StageStarted) else ""
        self.inner.append(fact)

    def remember(self, key: str, trajectory: Trajectory) -> None:
        self._live("remember")
        self.inner.remember(key, trajectory)

    def remember_call(self, key: str, reply: ChatReply) -> None:
        self._live("remember_call")
        self.inner.remember_call(key, reply)

    def forget_call(self, key: str) -> None:
        self._live("forget_call")
        self.inner.forget_call(key)

    def keep(self, path: str, text: str) -> None:
        self._live("keep")
        self.inner.keep(path, text)

    def keep_folder(self, path: str, skill: SkillDocument) -> None:
        self._live("keep_folder")
        self.inner.keep_folder(path, skill)


class Counted:
    """The simulated model, which gives way before it answers and notes what was asked."""

    offers = frozenset({"json_schema"})

    def __init__(self, config: SimulatedConfig) -> None:
        self._inner = Simulated(config)
        self.name, self.fingerprint = self._inner.name, self._inner.fingerprint
        self.asked: list[str] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        if request.stage != "preflight":
            self.asked.append(request.key(self.fingerprint))
        await asyncio.sleep(0)
        return await self._inner.chat(request)


@dataclass(frozen=True)
class World:
    """A run that can die.

    Attributes:
        in_flight: most calls at once.
        seed: the skill it starts from; None for the benchmark's own.
    """

    settings: tuple[str, ...]
    benchmark: ToyBenchmark
    in_flight: int
    model: SimulatedConfig = field(default_factory=SimulatedConfig)
    seed: SkillDocument | None = None

    def live(self, store: Any) -> tuple[list[str], int]:
        """Start or resume it; what was asked of the models, and how it ended (-1: it died)."""
        model = Counted(self.model)
        toy = Toy(self.settings, target=model, optimizer=model, benchmark=self.benchmark)
        session = overlapped(toy_session(toy, store))
        session = session if self.seed is None else replace(session, seed=self.seed)
        try:
            return model.asked, asyncio.run(train_session(session))
        except Died:
            return model.asked, -1


def overlapped(session: Session) -> Session:
    """The session, with work that begins before its turn as in any real run."""
    overlap = Overlap(session.run.config.run.workers)
    return replace(session, run=replace(session.run, overlap=overlap))


class Whole:
    """An uninterrupted run, to be compared with."""

    def __init__(self, world: World) -> None:
        self.world, self.store = world, MemoryStore()
        self.writes = Mortal(self.store, "", 1)
        self.asked, code = world.live(self.writes)
        assert code == 0
        self.outcome = outcome(self.store)


def outcome(store: MemoryStore) -> dict[str, object]:
    """All that must not depend on interruptions."""
    records = [
        {key: value for key, value in record.items() if key not in VOLATILE}
        for record in history(fold(store.facts()))
    ]
    # How many attempts were in flight when a verdict was settled is a matter of timing.
    files = {p: t for p, t in store.files.items() if "/selection/" not in p}
    return {"state": store.load_state(), "records": records, "files": files}


def check_life_after(whole: Whole, kind: str, nth: int) -> None:
    """Die instead of a write, and live again: the same end, and no answered call asked again."""
    store, world = MemoryStore(), whole.world
    first, code = world.live(Mortal(store, kind, nth))
    assert code == -1
    journaled = set(store._calls)
    second, code = world.live(store)
    assert code == 0
    assert outcome(store) == whole.outcome
    # No call whose answer was journaled is made again, and only those in flight are.
    assert not journaled & set(second)
    repeated = Counter(first) & Counter(second)
    assert repeated.total() <= world.in_flight
    assert max(Counter(second).values(), default=0) <= 1
