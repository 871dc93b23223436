"""The conformance check must object to each way of breaking the contract."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from task_files import qa, write_splits

from skillopt_cli.benchmarks.searchqa import SPEC
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Brief, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest
from skillopt_cli.testing import check_benchmark


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    write_splits(tmp_path, [qa("a"), qa("b")], [qa("c")], [qa("d")])
    return SPEC.open(BenchmarkRequest(split_dir=tmp_path))


async def test_a_sound_benchmark_passes(benchmark: Benchmark) -> None:
    await check_benchmark(benchmark)


def attribute(name: str, value: Any) -> Callable[[Any], None]:
    return lambda benchmark: setattr(benchmark, name, value)


def scores(function: Callable[..., Any]) -> Callable[[Any], None]:
    def patch(benchmark: Any) -> None:
        async def score(task: Task, attempt: Any) -> Any:
            return function(task, attempt)

        benchmark.score = score

    return patch


def brief(section: str, task_id: str = "", draw: int = 0) -> Callable[[Any], None]:
    def made(task: Task) -> Brief:
        return Brief(task_id or task.id, "You.", (Section("Task", section),), draw=draw)

    return attribute("brief", made)


def restless(benchmark: Any) -> None:
    counter = itertools.count()
    attribute("brief", lambda task: Brief(task.id, f"{next(counter)}", (Section("T", "t"),)))(
        benchmark
    )


def careless(benchmark: Any) -> None:
    original = benchmark.brief

    def made(task: Task) -> Brief:
        task.data["context"] += "!"  # type: ignore[index]
        return Brief(task.id, "You.", original(task).sections[1:])

    benchmark.brief = made


def fickle(benchmark: Any) -> None:
    counter = itertools.count()
    scores(lambda *_: Score(0.0, (next(counter) % 2) / 2, "no"))(benchmark)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (attribute("name", ""), "`name` is not a text"),
        (attribute("source", "a\nb"), "more than one line"),
        (attribute("needs", {"images"}), "`needs` is not a frozenset"),
        (attribute("tasks", lambda split: ()), "the train split is empty"),
        (attribute("tasks", lambda split: [Task("a", "k", {})]), "not unique"),
        (attribute("tasks", lambda split: [Task(split, " ", {})]), "has no kind"),
        (brief(" "), "has an empty section"),
        (brief("t", task_id="other"), "names another task"),
        (brief("t", draw=1), "sets a draw"),
        (restless, "varies between calls"),
        (careless, "changes the task"),
        (scores(lambda *_: 1.0), "is not a Score"),
        (scores(lambda *_: Score(0.0, 0.0)), "gets no feedback"),
        (scores(lambda *_: Score(1.0, 1.0)), "an empty answer"),
        (scores(lambda *_: Score(0.0, 0.0, "no", ("gold",))), "the reference of `a` scores 0.0"),
        (
            scores(lambda _, a: Score(float(a.answer == "g"), 0.0, "no", ("g",))),
            "giving up on `a` scores 1.0",
        ),
        (fickle, "of one answer to `a` varies"),
    ],
)
async def test_a_broken_benchmark_is_named(
    benchmark: Benchmark, spoil: Callable[[Any], None], complaint: str
) -> None:
    spoil(benchmark)
    with pytest.raises(AssertionError, match=complaint):
        await check_benchmark(benchmark)
