"""A run, put together: benchmark, models, store and bus around one configuration."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt_cli.backends.doors import Doors
from skillopt_cli.compose.conditions import record_conditions
from skillopt_cli.compose.prompts import effective_prompts
from skillopt_cli.compose.roles import Models, Wiring, open_models
from skillopt_cli.compose.secrets import DiscreetStore, Secrets
from skillopt_cli.compose.skill_init import seed_skill
from skillopt_cli.compose.tasks import splits_in_use
from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import RunStarted
from skillopt_cli.core.gate import GateRule
from skillopt_cli.core.plan import LearningRate, TrainPlan
from skillopt_cli.core.score import Metric
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.engine.bus import Bus, Subscriber
from skillopt_cli.engine.session import Session
from skillopt_cli.executors.local import LocalExecutor
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.ports import Benchmark, BenchmarkRequest
from skillopt_cli.stages import Run
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.lock import lock_run
from skillopt_cli.store.scribe import Scribe

HARMLESS = ("PATH", "LANG", "LC_ALL", "TZ")


@dataclass(frozen=True, slots=True)
class Order:
    """What to put together.

    Attributes:
        environment: variables by name, read once by the caller.
        observers: displays; they cannot steer or break the run.
        skill: the skill to evaluate; None trains, from the configured seed.
        allow_drift: go on although conditions changed.
        clock: Unix time in seconds.
    """

    config: RunConfig
    environment: Mapping[str, str]
    observers: Sequence[Subscriber] = ()
    skill: SkillDocument | None = None
    allow_drift: bool = False
    clock: Callable[[], float] = time.time


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
def composed(folder: Path, order: Order) -> Iterator[tuple[Session, Doors]]:
    """A session on a run folder, which is locked and kept up to date as long as it is open.

    Raises:
        RunLocked: another process writes the folder.
        DriftRefused: the folder belongs to a run under other conditions.
        ConfigError, DataError, BackendError: something does not fit together.
    """
    config = order.config
    journal_path = Path(config.run.cache_dir or folder) / "journal.sqlite"
    secrets = Secrets.of(order.environment, config)
    with (
        lock_run(folder),
        Journal(journal_path) as journal,
        DiscreetStore(folder, journal, secrets) as store,
        TemporaryDirectory(prefix="skillopt-") as workspaces,
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
        wiring = Wiring(order.environment, doors, store, emit)
        benchmark = open_benchmark(config)
        models = open_models(config, wiring, with_optimizer=order.skill is None)
        run = Run(
            config=config,
            plan=train_plan(config, benchmark),
            benchmark=benchmark,
            splits=splits_in_use(config, benchmark),
            target=models.target,
            optimizer=models.optimizer,
            executor=LocalExecutor(Path(workspaces), _harmless(order.environment)),
            store=store,
            emit=emit,
            variants=models.variants,
            rule=gate_rule(config),
            prompts=run_prompts(config),
        )
        _check_abilities(run)
        seed = order.skill or seed_skill(config.env, benchmark.seed_skill)
        record_conditions(folder, run, seed, allow_drift=order.allow_drift)
        started = _started(folder, run, order, models)
        yield Session(run, seed, started, models.live, models.checks), doors


def _harmless(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables a program of an attempt may see: no key, no home."""
    return {name: environment[name] for name in HARMLESS if name in environment}


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


def _check_abilities(run: Run) -> None:
    lacking = run.benchmark.needs - run.target.offers
    if lacking:
        raise ConfigError(
            f"benchmark `{run.benchmark.name}` needs {', '.join(sorted(lacking))},"
            f" which the target `{run.target.name}` does not offer",
            "choose another --target-backend; see `skillopt backends list`",
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
    )
