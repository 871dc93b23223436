"""The toy benchmark, and runs in memory around it."""

from __future__ import annotations

import pytest

from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Degraded, RunStarted, StoppedEarly
from skillopt_cli.core.task import Attempt
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import train_session
from skillopt_cli.testing import (
    EventLog,
    MemoryStore,
    Toy,
    ToyBenchmark,
    check_benchmark,
    toy_run,
    toy_session,
)


async def test_it_keeps_the_contract_of_a_benchmark() -> None:
    await check_benchmark(ToyBenchmark({"train": 3, "selection": 3, "test": 3}))


async def test_the_soft_score_is_the_share_of_common_words() -> None:
    benchmark = ToyBenchmark({"train": 30, "selection": 0, "test": 0})
    task = next(t for t in benchmark.tasks("train") if len(t.data["answers"][0].split()) == 2)
    first = task.data["answers"][0].split()[0]
    score = await benchmark.score(task, Attempt(f"<answer>{first}</answer>"))
    assert (score.hard, score.soft) == (0.0, 0.5)


def test_tasks_depend_on_sizes_and_seed_alone() -> None:
    sizes = {"train": 3, "selection": 2, "test": 1}
    one, same, other = ToyBenchmark(sizes, 1), ToyBenchmark(sizes, 1), ToyBenchmark(sizes, 2)  # type: ignore[arg-type]
    assert [len(one.tasks(split)) for split in ("train", "selection", "test")] == [3, 2, 1]  # type: ignore[arg-type]
    assert one.tasks("train") == same.tasks("train") != other.tasks("train")


def test_settings_are_those_of_a_run_and_unknown_ones_are_refused() -> None:
    run = toy_run(Toy(("train.batch_size=3", "evaluation.gate_metric=soft")))
    assert (run.plan.batch_size, run.metric.name) == (3, "soft")
    with pytest.raises(ConfigError, match="batchsize"):
        toy_run(Toy(("train.batchsize=3",)))


async def test_a_run_takes_up_the_store_it_is_given() -> None:
    store, log = MemoryStore(), EventLog()
    await train_session(toy_session(store=store))
    await train_session(toy_session(store=store, observers=[Subscriber("log", log)]))
    assert [event.done for event in log.of(RunStarted)] == [4]
    assert log.facts[0].number == store.log.index(log.facts[0]) + 1


def test_an_event_log_sorts_by_kind() -> None:
    log = EventLog()
    run = toy_run(observers=[Subscriber("log", log)])
    facts = [Degraded("a", "b"), StoppedEarly("c"), Degraded("d", "e")]
    for fact in facts:
        run.emit(fact)
    assert log.events == facts
    assert log.of(Degraded) == [facts[0], facts[2]]
