"""`toy_run` and `toy_session`: a run in memory; `EventLog`: a subscriber that records its facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.backends.middleware.budget import Budget, PastUse
from skillopt_cli.backends.middleware.metered import Price, free, unknown
from skillopt_cli.backends.middleware.recorder import Cached
from skillopt_cli.backends.middleware.stack import CallPolicy, SharedLimits, stack
from skillopt_cli.backends.rate_limiter.limiter import Provider, RateLimiter
from skillopt_cli.backends.rate_limiter.stop_gate import StopGate
from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.compose.benchmark import confirmation_tasks, splits_in_use
from skillopt_cli.compose.prompts import effective_prompts
from skillopt_cli.compose.schedule import caps_of, gate_rule, stage_variants, train_plan
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import Layer, assignment_layers, resolve
from skillopt_cli.core.events import Role, RunEvent, RunStarted, Stamped
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.engine.bus import Bus, Subscriber
from skillopt_cli.engine.controller import Controller, RunControls, RunPosition
from skillopt_cli.engine.session import Session
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import Benchmark, ChatBackend, Control, Judged, Store
from skillopt_cli.runlog.fold import fold
from skillopt_cli.stages import WITH_MODEL, Run, Variants
from skillopt_cli.store.memory import MemoryStore
from skillopt_cli.testing.tasks import ToyBenchmark

E = TypeVar("E", bound=RunEvent)

_SETTINGS = {
    "train": {"num_epochs": 2, "batch_size": 6},
    "gradient": {"minibatch_size": 2, "merge_batch_size": 2},
    "model": {"retry": {"base_seconds": 0.0}, "outage_wait": 0.0},
    "run": {"workers": 4},
}
"""Settings of every toy run, below `Toy.settings`."""


@dataclass(frozen=True, slots=True)
class Toy:
    """The parts of a run in memory.

    Attributes:
        settings: texts such as "train.batch_size=4", as for `--set`.
        target, optimizer, judge: the models; None for the simulated one of `model.simulated.*`.
        variants: the optimizer's stages; default: those that use a model.
        clock: Unix time in seconds; default: constant.
        price: US dollars of a call to a given model; default: unknown.
        control: the control of the run; None for a `Controller`, which waits for commands.
    """

    settings: Sequence[str] = ()
    target: ChatBackend | None = None
    optimizer: ChatBackend | None = None
    benchmark: Benchmark = field(
        default_factory=lambda: ToyBenchmark({"train": 12, "selection": 8, "test": 6})
    )
    variants: Variants = WITH_MODEL
    clock: Callable[[], float] = lambda: 0.0
    judge: ChatBackend | None = None
    price: Price = unknown
    control: Control | None = None

    def config(self) -> RunConfig:
        """The run's configuration.

        Raises:
            ConfigError: a setting is unknown or out of range.
        """
        return resolve([Layer("toy", _SETTINGS), *assignment_layers(self.settings)]).config


class EventLog:
    """A subscriber that records every fact.

    Attributes:
        facts: the facts so far, in order.
    """

    def __init__(self) -> None:
        self.facts: list[Stamped] = []

    def __call__(self, fact: Stamped) -> None:
        """Record a fact."""
        self.facts.append(fact)

    @property
    def events(self) -> list[RunEvent]:
        """The events, without number and time."""
        return [fact.event for fact in self.facts]

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]


def toy_run(
    toy: Toy | None = None, store: Store | None = None, observers: Sequence[Subscriber] = ()
) -> Run:
    """A run with the same retries, limits, metering and journal as a real one.

    Args:
        store: its store; pass that of an earlier run to resume it. None for a new one.
    """
    return toy_session(toy, store, observers).run


def toy_session(
    toy: Toy | None = None, store: Store | None = None, observers: Sequence[Subscriber] = ()
) -> Session:
    """A session around `toy_run`, for `engine.session.train_session` and `evaluate_session`."""
    toy = toy or Toy()
    store = MemoryStore() if store is None else store
    config = toy.config()
    facts = list(store.facts())
    past = fold(facts)
    bus = Bus([Subscriber("event log", store.append)], observers, toy.clock, len(facts) + 1)
    used = PastUse(past.ledger, past.wall_time, past.marks)
    budget = Budget(caps_of(config.run), used, bus.emit)
    stop_gate = StopGate()
    roles: list[Role] = ["optimizer", "target"]
    judging = isinstance(toy.benchmark, Judged)
    roles += ["judge"] if judging else []
    chats = {role: _model(toy, role, config, (budget, stop_gate)) for role in roles}
    plan, state = train_plan(config, toy.benchmark), store.load_state()
    controller = Controller(
        RunControls(bus.emit, stop_gate, budget, config.run.max_concurrency),
        RunPosition(state.done if state else 0, plan.total, asks=True),
        past.steering,
    )
    run = Run(
        config=config,
        plan=plan,
        benchmark=toy.benchmark,
        splits=splits_in_use(config, toy.benchmark),
        confirmation=confirmation_tasks(config, toy.benchmark),
        target=ChatAgent(Cached(chats["target"], store)),
        optimizer=Cached(chats["optimizer"], store),
        judge=Cached(chats["judge"], store) if judging else None,
        executor=LocalExecutor(Path.cwd(), {}),
        store=store,
        emit=bus.emit,
        variants=stage_variants(config, toy.variants),
        rule=gate_rule(config),
        prompts=effective_prompts(toy.benchmark.name, {}, config.optimizer.prompts_dir),
        control=toy.control or controller,
    )
    seed = SkillDocument(toy.benchmark.seed_skill)
    return Session(run, seed, _first_event(run), chats, budget, drifted=past.drifted)


def _simulated(config: RunConfig) -> Simulated:
    section = config.model.section("simulated")
    assert isinstance(section, SimulatedConfig)
    return Simulated(section)


def _model(toy: Toy, role: Role, config: RunConfig, shared: tuple[Budget, StopGate]) -> ChatBackend:
    given = {"target": toy.target, "optimizer": toy.optimizer, "judge": toy.judge}
    chat, price = given[role], toy.price
    if chat is None:
        chat, price = _simulated(config), free
    workers = config.gradient.analyst_workers if role == "optimizer" else config.run.workers
    policy = CallPolicy(role, workers, config.model.timeout or 60.0, config.model.retry, price)
    limiter = RateLimiter(
        Provider(config.run.max_concurrency), outage_wait=config.model.outage_wait
    )
    return stack(chat, policy, SharedLimits(limiter, *shared))


def _first_event(run: Run) -> RunStarted:
    state = run.store.load_state()
    return RunStarted(
        run_id="toy",
        benchmark=run.benchmark.name,
        done=state.done if state else 0,
        total_steps=run.plan.total,
        epochs=run.plan.epochs,
        optimizer=run.optimizer.name if run.optimizer else "",
        target=run.target.name,
        data=run.benchmark.source,
        n_train=len(run.splits["train"]),
        n_selection=len(run.splits["selection"]),
        n_test=len(run.splits["test"]),
        metric=run.metric.name,
        recorded=run.recorded(state) if state else None,
        judge=run.judge.name if run.judge else "",
    )
