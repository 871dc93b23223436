"""A run, put together: benchmark, models, store and bus around one configuration."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from skillopt_cli.backends.budget import Budget, Past
from skillopt_cli.backends.doors import Doors
from skillopt_cli.compose.conditions import record_conditions, record_sources
from skillopt_cli.compose.endpoints import roles_of
from skillopt_cli.compose.housing import Place, clear_leftovers, open_executors
from skillopt_cli.compose.lanes import Lanes
from skillopt_cli.compose.prompts import effective_prompts
from skillopt_cli.compose.replaying import Replay, one_at_a_time, replayed_models
from skillopt_cli.compose.roles import Models, Wiring, open_models, role_spec
from skillopt_cli.compose.secrets import DiscreetStore, Secrets
from skillopt_cli.compose.skill_init import training_seed
from skillopt_cli.compose.taping import TapedStore, recorder, recording_header
from skillopt_cli.compose.tasks import splits_in_use
from skillopt_cli.config import RunConfig
from skillopt_cli.core.caps import FLAGS, Cap
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Limits, Role, RunEvent, RunStarted
from skillopt_cli.core.gate import GateRule
from skillopt_cli.core.plan import LearningRate, TrainPlan
from skillopt_cli.core.score import Metric
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.steering import Steering
from skillopt_cli.core.temporary import own_prefix
from skillopt_cli.engine.bus import Bus, Subscriber
from skillopt_cli.engine.controller import Controller, Course, Levers, unstated
from skillopt_cli.engine.session import Session
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Store
from skillopt_cli.stages import Run
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.lock import lock_run
from skillopt_cli.store.recording import read_header
from skillopt_cli.store.scribe import Scribe


@dataclass(frozen=True, slots=True)
class Order:
    """What to put together.

    Attributes:
        environment: variables by name, read once by the caller.
        observers: displays and trackers; they cannot steer or break the run.
        sources: where the settings come from that are no defaults, by dotted key.
        skill: the skill to evaluate; None trains, from the configured seed.
        skill_from: where that was read; empty for an empty skill.
        allow_drift: go on although conditions changed.
        record: where to write the calls that were used, when the run ends.
        replay: the recording to answer every call from, in the place of models.
        clock: Unix time in seconds.
    """

    config: RunConfig
    environment: Mapping[str, str]
    observers: Sequence[Subscriber] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    skill: SkillDocument | None = None
    skill_from: str = ""
    allow_drift: bool = False
    record: Path | None = None
    replay: Path | None = None
    clock: Callable[[], float] = time.time

    def heard_by(self, observers: Sequence[Subscriber]) -> Order:
        """The order with more observers."""
        return replace(self, observers=(*self.observers, *observers))


def open_benchmark(config: RunConfig) -> Benchmark:
    """The benchmark with its tasks loaded.

    Raises:
        ConfigError: there is no such benchmark.
        DataError: its data is missing or malformed.
    """
    env = config.env
    split_dir, data_path = env.tasks_from
    return load_benchmark(env.name).open(
        BenchmarkRequest(
            split_dir=Path(split_dir) if split_dir else None,
            data_path=Path(data_path) if data_path else None,
            data_root=Path(env.data_root),
            split_ratio=env.split_ratio,
            split_seed=env.split_seed,
            limit=env.limit,
            options=env.options,
        )
    )


def run_prompts(config: RunConfig) -> dict[str, str]:
    """The optimizer's prompts, those of the benchmark and of `optimizer.prompts_dir` included.

    Raises:
        ConfigError: one of those has an unknown name or cannot be used.
    """
    name = config.env.name
    return effective_prompts(name, load_benchmark(name).prompts, config.optimizer.prompts_dir)


@contextmanager
def composed(folder: Path, order: Order) -> Iterator[tuple[Session, Controller]]:
    """A session on a run folder, which is locked and kept up to date as long as it is open.

    With it comes who steers it.

    Raises:
        RunLocked: another process writes the folder.
        DriftRefused: the folder belongs to a run under other conditions.
        ConfigError, DataError, BackendError: something does not fit together.
    """
    config = order.config if order.replay is None else one_at_a_time(order.config)
    # A replay must find no call that its recording does not hold, so it shares no journal.
    shared = config.run.cache_dir if order.replay is None else ""
    secrets = Secrets.of(order.environment, config)
    clear_leftovers(Path(gettempdir()))
    with (
        lock_run(folder),
        Journal(Path(shared or folder) / "journal.sqlite") as journal,
        (TapedStore if order.record else DiscreetStore)(folder, journal, secrets) as store,
        TemporaryDirectory(prefix=own_prefix()) as workspaces,
    ):
        scribe = Scribe(folder, store.facts())
        bus = Bus(
            [Subscriber("event log", store.append), Subscriber("history", scribe)],
            order.observers,
            order.clock,
            store.last_number + 1,
        )
        emit = secrets.guard(bus.emit)
        doors = Doors()
        tapes = recorder(order.record, folder, config, journal, secrets) if order.record else None
        caps = caps_of(config) if order.replay is None else ()
        budget = Budget(caps, Past.of(store.facts()), emit)
        lanes = Lanes(config.run.max_concurrency, budget, doors)
        benchmark = open_benchmark(config)
        training = order.skill is None
        roles = roles_of(config, training=training)
        place = Place(folder, Path(workspaces), order.environment)
        played = roles if order.replay is None else ("target",)
        players = {role: role_spec(config, role) for role in played}
        executors, warnings = open_executors(config, place, players)
        wiring = Wiring(
            order.environment, lanes, store, budget, executors, tapes.tape if tapes else None
        )
        models = _models(order, config, wiring, journal, roles)
        plan = train_plan(config, benchmark)
        told, again = _steering(store, order.replay)
        controller = Controller(
            Levers(emit, doors, budget, config.run.max_concurrency, lanes.limit, secrets.hide),
            _course(store, plan.total if training else 0, models),
            told,
        )
        run = Run(
            config=config,
            plan=plan,
            benchmark=benchmark,
            splits=splits_in_use(config, benchmark),
            target=models.target,
            optimizer=models.optimizer,
            judge=models.judge,
            executor=executors["target"],
            store=store,
            emit=emit,
            variants=models.variants,
            rule=gate_rule(config),
            prompts=run_prompts(config),
            control=controller,
        )
        check_abilities(benchmark, models.names["target"], models.target.offers)
        seed = order.skill or training_seed(config, benchmark.seed_skill)
        record_conditions(folder, run, seed, allow_drift=order.allow_drift)
        record_sources(folder, order.sources)
        started = _started(folder, run, order, models)
        header = recording_header(config, models, benchmark)
        with tapes.writing(header, lambda: _told(store).lasting) if tapes else nullcontext():
            live, checks = models.live, models.checks
            session = Session(
                run, seed, started, live, budget, checks, warnings, again, models.trial
            )
            yield session, controller


def _models(
    order: Order, config: RunConfig, wiring: Wiring, journal: Journal, roles: Sequence[Role]
) -> Models:
    if order.replay is None:
        return open_models(config, wiring, roles)
    replay = Replay(order.replay, order.environment)
    return replayed_models(config, replay, journal, wiring.store, roles)


def _told(store: Store) -> Steering:
    return Steering.of(store.facts())


def _steering(store: Store, replay: Path | None) -> tuple[Steering, tuple[RunEvent, ...]]:
    """What people said to this run or to the one it replays; and what of that its log lacks."""
    told = _told(store)
    again = unstated(read_header(replay).steering, told) if replay else ()
    return reduce(Steering.after, again, told), again


def _course(store: Store, total: int, models: Models) -> Course:
    state = store.load_state()
    return Course(state.done if state else 0, total, asks=models.optimizer is not None)


def train_plan(config: RunConfig, benchmark: Benchmark) -> TrainPlan:
    """The schedule: of `train_size` tasks, or of the whole train split."""
    train, optimizer = config.train, config.optimizer
    size = train.train_size or len(benchmark.tasks("train"))
    rate = LearningRate(
        high=optimizer.learning_rate,
        low=optimizer.floor,
        scheduler=optimizer.lr_scheduler,
        capped=optimizer.rate_control != "none",
        from_start=optimizer.lr_schedule_from_start,
    )
    return TrainPlan(train.num_epochs, size, train.batch_size, train.accumulation, train.seed, rate)


def gate_rule(config: RunConfig) -> GateRule:
    """How candidates are judged."""
    evaluation = config.evaluation
    return GateRule(
        Metric(evaluation.gate_metric, evaluation.gate_mixed_weight),
        evaluation.min_coverage,
        evaluation.use_gate,
    )


def check_abilities(benchmark: Benchmark, target: str, offers: frozenset[str]) -> None:
    """Refuse a target that lacks what a benchmark needs.

    Args:
        target: its name, for people.
        offers: its abilities.

    Raises:
        ConfigError: it does.
    """
    lacking = [need for need in benchmark.needs if offers.isdisjoint(need.split("|"))]
    if lacking:
        wanted = ", ".join(sorted(need.replace("|", " or a ") for need in lacking))
        raise ConfigError(
            f"benchmark `{benchmark.name}` needs {wanted},"
            f" which the target `{target}` does not offer",
            "choose another with `model.target.backend=NAME`; see `skillopt backends list`",
        )


def _started(folder: Path, run: Run, order: Order, models: Models) -> RunStarted:
    state = run.store.load_state()
    training = order.skill is None
    sizes = {split: len(tasks) for split, tasks in run.splits.items()}
    return RunStarted(
        run_id=folder.name,
        benchmark=run.benchmark.name,
        done=state.done if state else 0,
        total_steps=run.plan.total if training else 0,
        epochs=run.plan.epochs if training else 0,
        optimizer=models.names.get("optimizer", "none"),
        target=models.names["target"],
        data=run.benchmark.source,
        n_train=sizes["train"],
        n_selection=sizes["selection"],
        n_test=sizes["test"],
        metric=run.metric.name,
        recorded=run.recorded(state) if state else None,
        limits=_limits(run.config, training),
        judge=models.names.get("judge", ""),
        skill=order.skill_from if order.skill else None,
        skill_title=order.skill.title if order.skill else "",
    )


def _limits(config: RunConfig, training: bool) -> Limits:
    section = config.run
    return Limits(
        workers=section.workers,
        analyst_workers=config.gradient.analyst_workers if training else 0,
        max_concurrency=section.max_concurrency,
        caps=tuple((cap.name, cap.limit) for cap in caps_of(config)),
    )


def caps_of(config: RunConfig) -> tuple[Cap, ...]:
    """The caps that are set."""
    limits = {name: getattr(config.run, name) for name in FLAGS}
    return tuple(Cap(name, limit) for name, limit in limits.items() if limit is not None)
