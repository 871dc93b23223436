"""`toy_run` and `toy_session`: a whole run in memory, and `EventLog`, which listens to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from skillopt_cli.backends.budget import Budget, Past
from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.backends.doors import Doors
from skillopt_cli.backends.metered import Price, free, unknown
from skillopt_cli.backends.pacing import Pacer
from skillopt_cli.backends.recorded import Recorded
from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.slots import Slots
from skillopt_cli.backends.stack import CallPolicy, Shared, stack
from skillopt_cli.compose.build import caps_of, gate_rule, train_plan
from skillopt_cli.compose.prompts import effective_prompts
from skillopt_cli.compose.tasks import splits_in_use
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import Layer, assignment_layers, resolve
from skillopt_cli.core.events import Role, RunEvent, RunStarted, Stamped
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.steering import Steering
from skillopt_cli.engine.bus import Bus, Subscriber
from skillopt_cli.engine.controller import Controller, Course, Levers
from skillopt_cli.engine.session import Session
from skillopt_cli.executors.local import LocalExecutor
from skillopt_cli.ports import Benchmark, ChatBackend, Control, Judged, Store
from skillopt_cli.stages import WITH_MODEL, Run, Variants
from skillopt_cli.store.memory import MemoryStore
from skillopt_cli.testing.toy import ToyBenchmark

E = TypeVar("E", bound=RunEvent)

SMALL = {
    "train": {"num_epochs": 2, "batch_size": 6},
    "gradient": {"minibatch_size": 2, "merge_batch_size": 2},
    "model": {"retry": {"base_seconds": 0.0}},
    "run": {"workers": 4},
}
"""What a toy run sets; `Toy.settings` come on top."""


def _still() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Toy:
    """What a run in memory is made of.

    Attributes:
        settings: texts such as "train.batch_size=4", as for `--set`.
        target, optimizer, judge: the models; None takes a simulated one, as `model.simulated.*`
            sets it up.
        variants: the optimizer's stages; those that ask a model unless said otherwise.
        clock: Unix time in seconds; stands still unless said otherwise.
        price: US dollars of a call to a model that is given; not known unless said otherwise.
        control: who steers; None takes a `Controller`, which waits for commands.
    """

    settings: Sequence[str] = ()
    target: ChatBackend | None = None
    optimizer: ChatBackend | None = None
    benchmark: Benchmark = field(
        default_factory=lambda: ToyBenchmark({"train": 12, "selection": 8, "test": 6})
    )
    variants: Variants = WITH_MODEL
    clock: Callable[[], float] = _still
    judge: ChatBackend | None = None
    price: Price = unknown
    control: Control | None = None

    def config(self) -> RunConfig:
        """The run's configuration.

        Raises:
            ConfigError: a setting is unknown or out of range.
        """
        return resolve([Layer("toy", SMALL), *assignment_layers(self.settings)]).config


class EventLog:
    """Keeps every fact it is told; a subscriber.

    Attributes:
        facts: in order.
    """

    def __init__(self) -> None:
        self.facts: list[Stamped] = []

    def __call__(self, fact: Stamped) -> None:
        """Hear a fact."""
        self.facts.append(fact)

    @property
    def events(self) -> list[RunEvent]:
        """What happened, without number and time."""
        return [fact.event for fact in self.facts]

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]


def toy_run(
    toy: Toy | None = None, store: Store | None = None, observers: Sequence[Subscriber] = ()
) -> Run:
    """A run whose models are retried, limited, metered and journaled as in real life.

    Args:
        store: its memory; give the one of an earlier run to take that up. None starts afresh.
    """
    return toy_session(toy, store, observers).run


def toy_session(
    toy: Toy | None = None, store: Store | None = None, observers: Sequence[Subscriber] = ()
) -> Session:
    """A session around `toy_run`, for `engine.session.train_session` and `evaluate_session`."""
    toy = toy or Toy()
    store = MemoryStore() if store is None else store
    config = toy.config()
    heard = sum(1 for _ in store.facts())
    bus = Bus([Subscriber("event log", store.append)], observers, toy.clock, heard + 1)
    budget = Budget(caps_of(config), Past.of(store.facts()), bus.emit)
    doors = Doors()
    roles: list[Role] = ["optimizer", "target"]
    judging = isinstance(toy.benchmark, Judged)
    roles += ["judge"] if judging else []
    chats = {role: _live(toy, role, config, (budget, doors)) for role in roles}
    plan, state = train_plan(config, toy.benchmark), store.load_state()
    controller = Controller(
        Levers(bus.emit, doors, budget, config.run.max_concurrency),
        Course(state.done if state else 0, plan.total, asks=True),
        Steering.of(store.facts()),
    )
    run = Run(
        config=config,
        plan=plan,
        benchmark=toy.benchmark,
        splits=splits_in_use(config, toy.benchmark),
        target=ChatAgent(Recorded(chats["target"], store)),
        optimizer=Recorded(chats["optimizer"], store),
        judge=Recorded(chats["judge"], store) if judging else None,
        executor=LocalExecutor(Path.cwd(), {}),
        store=store,
        emit=bus.emit,
        variants=toy.variants,
        rule=gate_rule(config),
        prompts=effective_prompts(toy.benchmark.name, {}, config.optimizer.prompts_dir),
        control=toy.control or controller,
    )
    return Session(run, SkillDocument(toy.benchmark.seed_skill), _started(run), chats, budget)


def _live(toy: Toy, role: Role, config: RunConfig, shared: tuple[Budget, Doors]) -> ChatBackend:
    given = {"target": toy.target, "optimizer": toy.optimizer, "judge": toy.judge}
    chat, price = given[role], toy.price
    if chat is None:
        chat, price = Simulated(config.model.simulated), free
    workers = config.gradient.analyst_workers if role == "optimizer" else config.run.workers
    policy = CallPolicy(role, workers, config.model.timeout or 60.0, config.model.retry, price)
    ceiling = config.run.max_concurrency
    return stack(chat, policy, Shared(Slots(ceiling), Pacer(ceiling), *shared))


def _started(run: Run) -> RunStarted:
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
