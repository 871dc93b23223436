"""The benchmark of a run: opened, cut to the tasks in use, and checked against the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from skillopt_cli.benchmarks.kit.data_check import task_warnings
from skillopt_cli.benchmarks.kit.reference_checks import one_answer
from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.run_verdict import confirmation_slice
from skillopt_cli.core.task import SPLITS, Split, Task, TaskSet
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Referenced


def open_benchmark(config: RunConfig, *, scored: bool = True) -> Benchmark:
    """The benchmark with its tasks loaded, which need answers where attempts are `scored`.

    Raises:
        ConfigError: there is no such benchmark.
        DataError: its data is missing or malformed.
    """
    return load_benchmark(config.env.name).open(benchmark_request(config, scored=scored))


def benchmark_request(config: RunConfig, *, scored: bool = True) -> BenchmarkRequest:
    """The settings with which the benchmark is opened."""
    env = config.env
    split_dir, data_path = env.tasks_from
    return BenchmarkRequest(
        split_dir=Path(split_dir) if split_dir else None,
        data_path=Path(data_path) if data_path else None,
        data_root=Path(env.data_root),
        split_ratio=env.split_ratio,
        split_seed=env.split_seed,
        limit=env.limit,
        options=env.options,
        scored=scored,
    )


def splits_in_use(
    config: RunConfig, benchmark: Benchmark, measured: TaskSet | None = None
) -> dict[Split, tuple[Task, ...]]:
    """The tasks of each split that the run will use.

    Args:
        measured: what an evaluation measures, and all that it needs; None for a training.

    Raises:
        DataError: an id occurs twice, there is no task where one is needed, or the tasks of a
            training all have the same answer.
    """
    tasks = {split: tuple(benchmark.tasks(split)) for split in SPLITS}
    _refuse_repeated_ids(benchmark, tasks)
    if measured is None:
        for split in SPLITS:
            _refuse_empty(benchmark, tasks, split)
        _refuse_one_answer(benchmark, tasks)
    else:
        _refuse_empty(benchmark, tasks, measured)
    evaluation = config.evaluation
    kept = {task.id for task in confirmation_tasks(config, benchmark)}
    selection = tasks["selection"][: evaluation.sel_env_num or None]
    return {
        "train": tasks["train"][: config.train.train_size or None],
        "selection": tuple(task for task in selection if task.id not in kept),
        "test": tasks["test"][: evaluation.test_env_num or None],
    }


def confirmation_tasks(config: RunConfig, benchmark: Benchmark) -> tuple[Task, ...]:
    """The selection tasks that no step uses, kept for the verdict of the run."""
    evaluation = config.evaluation
    tasks = tuple(benchmark.tasks("selection"))[: evaluation.sel_env_num or None]
    return confirmation_slice(tasks, evaluation.confirm_fraction)


def _refuse_repeated_ids(benchmark: Benchmark, tasks: Mapping[Split, Sequence[Task]]) -> None:
    """Refuse splits in which marks, which are kept by id, would be ambiguous."""
    ids = Counter(task.id for part in tasks.values() for task in part)
    repeated = [task_id for task_id, times in ids.items() if times > 1]
    if repeated:
        raise DataError(
            f"benchmark `{benchmark.name}` has {len(repeated)} task id(s) more than once,"
            f" such as `{repeated[0]}`",
            _correct(benchmark),
        )


def _refuse_empty(
    benchmark: Benchmark, tasks: Mapping[Split, Sequence[Task]], needed: TaskSet
) -> None:
    """Refuse to use tasks of which there is none."""
    held = sum(map(len, tasks.values()))
    if tasks[needed] if needed != "all" else held:
        return
    what = "benchmark" if needed == "all" else f"the {needed} split of benchmark"
    hint = _correct(benchmark)
    if held < len(SPLITS):
        hint = (
            "give 3 tasks or more, or measure those that there are by `skillopt eval --split all`"
        )
    raise DataError(f"{what} `{benchmark.name}` is empty: {benchmark.source}", hint)


def _refuse_one_answer(benchmark: Benchmark, tasks: Mapping[Split, Sequence[Task]]) -> None:
    """Refuse to train on tasks of which any is solved by the same answer."""
    if isinstance(benchmark, Referenced):
        everything = (task for part in tasks.values() for task in part)
        for finding in one_answer(map(benchmark.expected, everything)):
            if finding.level == "error":
                raise DataError(finding.what, finding.hint)


def _correct(benchmark: Benchmark) -> str:
    return (
        f"correct the benchmark or its data; `skillopt data check {benchmark.name}` lists such"
        " faults"
    )


def data_warnings(benchmark: Benchmark) -> Iterator[Degraded]:
    """What is odd about the tasks, before anything is spent on them."""
    for warning in task_warnings(benchmark):
        yield Degraded("data", f"{warning}; `skillopt data check` says more")


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
