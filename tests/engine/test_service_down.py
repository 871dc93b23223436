"""A model service that answers no attempt of a stage ends the run, which then goes on as if not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.core.errors import (
    CallTimedOut,
    NetworkFailed,
    RequestRefused,
    ServerFailed,
    ServiceDown,
)
from skillopt_cli.core.events import (
    CheckpointSaved,
    GateDecided,
    RolloutFinished,
    RunEvent,
    RunFailed,
    RunFinished,
    StageName,
    StageStarted,
    Stamped,
    TestMeasured,
)
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatReply, ChatRequest, Split
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import evaluate_session, train_session
from skillopt_cli.ports import Executor
from skillopt_cli.testing import EventLog, MemoryStore, Toy, ToyBenchmark, toy_session

SIZES: dict[Split, int] = {"train": 24, "selection": 8, "test": 6}
SETTINGS = (
    "train.batch_size=8",
    "model.retry.max_attempts=1",
    "optimizer.verify=edits",
)
FEW = ("train.num_epochs=1", "train.batch_size=4", "evaluation.test_env_num=4")
REFUSED = NetworkFailed("model `m` could not be reached: the connection was refused")


@dataclass
class Service:
    """The simulated model, which stops answering when a stage begins.

    Attributes:
        stage, step: where that is; none by default.
        left: calls of that stage that it still answers.
        error: what it answers from then on.
    """

    stage: str = ""
    step: int = 0
    left: int = 0
    error: Exception = REFUSED
    down: bool = False

    def __post_init__(self) -> None:
        self._model = Simulated(SimulatedConfig())
        self.name = self._model.name
        self.fingerprint = self._model.fingerprint
        self.offers = self._model.offers

    def hear(self, fact: Stamped) -> None:
        event = fact.event
        if isinstance(event, StageStarted) and (event.stage, event.step) == (self.stage, self.step):
            self.down = True

    async def chat(self, request: ChatRequest) -> ChatReply:
        if self.down and request.stage != "preflight":
            if self.left == 0:
                raise self.error
            self.left -= 1
        return await self._model.chat(request)


class Run:
    """A training in memory, whose journal lasts."""

    def __init__(self, *settings: str) -> None:
        self.store = MemoryStore()
        self.settings = (*SETTINGS, *settings)

    async def train(self, service: Service, agent: BrokenProgram | None = None) -> EventLog:
        """What one process states until the run ends."""
        log = EventLog()
        observers = [Subscriber("log", log), Subscriber("service", service.hear)]
        toy = Toy(self.settings, service, service, ToyBenchmark(SIZES, seed=3))
        session = toy_session(toy, self.store, observers)
        if agent is not None:
            session = replace(session, run=replace(session.run, target=agent))
        try:
            await train_session(session)
        except ServiceDown:
            assert log.of(RunFailed)
        return log

    @property
    def decided(self) -> list[RunEvent]:
        """The gates and tests of the run, and its texts, those of a broken attempt left out."""
        kinds = (GateDecided, TestMeasured)
        events = [fact.event for fact in self.store.facts()]
        return [event for event in events if isinstance(event, kinds)]

    @property
    def texts(self) -> dict[str, str]:
        return {path: text for path, text in self.store.files.items() if path.endswith(".md")}


class BrokenProgram:
    """An agent whose program answers the baseline, and fails from then on."""

    name = fingerprint = "program"
    offers: frozenset[str] = frozenset()

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        if brief.stage in ("measure", "preflight"):
            return Attempt("a guess")
        return Attempt("", ending="broken", error="program ended with code 1: no such file")


@pytest.mark.parametrize("error", [REFUSED, ServerFailed("HTTP 503"), CallTimedOut("60 s")])
@pytest.mark.parametrize(
    ("stage", "step"),
    [("rollout", 1), ("rollout", 2), ("verify", 1), ("measure", 1), ("measure", 3), ("test", 0)],
)
async def test_a_resumed_run_ends_as_an_undisturbed_one(
    stage: StageName, step: int, error: Exception
) -> None:
    plain, disturbed = Run(), Run()
    await plain.train(Service())
    log = await disturbed.train(Service(stage, step, error=error))
    (failed,) = log.of(RunFailed)
    assert (failed.error, failed.exit_code, failed.resumable) == ("ServiceDown", 4, True)
    assert failed.message.startswith("a model service answered none of ")
    assert f" attempts in {stage}, most often: {type(error).__name__}: {error}" in failed.message
    assert failed.hint.startswith("once it answers again, `skillopt resume toy` ")
    assert [fact.done for fact in log.of(CheckpointSaved)][-1] == (step - 1 if step else 6)
    rest = await disturbed.train(Service())
    assert rest.of(RunFinished)
    assert disturbed.decided == plain.decided
    assert disturbed.texts == plain.texts
    assert disturbed.store.load_state() == plain.store.load_state()


async def test_a_baseline_and_an_evaluation_without_any_answer_end_alike() -> None:
    run = Run()
    log = await run.train(Service("measure", 0))
    assert log.of(RunFailed)[0].exit_code == 4
    service, log = Service(down=True), EventLog()
    toy = Toy(SETTINGS, service, service, ToyBenchmark(SIZES))
    session = toy_session(toy, MemoryStore(), [Subscriber("log", log)])
    with pytest.raises(ServiceDown):
        await evaluate_session(session, "test")


@pytest.mark.parametrize("answered", [1, 4])
async def test_a_stage_with_any_answer_is_recorded(answered: int) -> None:
    service = Service("measure", 1, answered)
    log = await Run("train.num_epochs=1").train(service)
    assert log.of(GateDecided)[0].decision.verdict == "indecisive"
    # The next stage has none.
    assert [fact.done for fact in log.of(CheckpointSaved)] == [0, 1]
    assert "attempts in rollout" in log.of(RunFailed)[0].message


@pytest.mark.parametrize("why", ["request", "program", "few"])
async def test_attempts_that_break_otherwise_end_no_run(why: str) -> None:
    """A request that is refused, or a program that fails, is no service that is down."""
    run = Run(*FEW) if why == "few" else Run()
    service = Service(
        "rollout", 1, error=RequestRefused("too long") if why == "request" else REFUSED
    )
    program = BrokenProgram() if why == "program" else None
    log = await run.train(service if program is None else Service(), program)
    broken = [fact for fact in log.of(RolloutFinished) if fact.ending == "broken"]
    assert len(broken) > 12
    assert log.of(RunFinished)
