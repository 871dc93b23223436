"""What an evaluation measures, in words: one split of a file that is cut, or all tasks."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from skillopt_cli.benchmarks.kit.benchmark import TextBenchmark
from skillopt_cli.compose.benchmark import splits_in_use
from skillopt_cli.config import RunConfig
from skillopt_cli.config.files import file_layers
from skillopt_cli.config.layers import resolve
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.formatting import count
from skillopt_cli.core.task import SPLITS, TaskSet
from skillopt_cli.ports import Benchmark
from skillopt_cli.store.layout import CONFIG


def measured_note(
    config: RunConfig, benchmark: Benchmark, chosen: TaskSet, home: Path | None
) -> str:
    """That all tasks are measured, or only the test split of a file that is cut for this; else "".

    A file that the skill was trained on keeps the cut of that run, so its test split is the right
    one.

    Args:
        home: the run that the skill is of, if there is one.
    """
    n = sum(len(benchmark.tasks(split)) for split in SPLITS)
    trained_on = home is not None and bool(file := _file(config)) and file == _file_of(home)
    if chosen == "all":
        among = ", also those that the skill was trained on" if trained_on else ""
        return f"measures all {count(n, 'task')}: train, selection and test together{among}"
    if chosen != "test" or trained_on or not config.env.tasks_from[1]:
        return ""
    used = len(splits_in_use(config, benchmark, chosen)[chosen])
    return (
        f"measures only the test split, {used} of {count(n, 'task')}, as the file is cut"
        f" {config.env.split_ratio}; `--split all` measures every task"
    )


def measured_source(benchmark: Benchmark, chosen: TaskSet | None) -> str:
    """Where the tasks of a run come from; where all are measured, no cut of their file counts."""
    if chosen == "all" and isinstance(benchmark, TextBenchmark):
        return benchmark.uncut_source
    return benchmark.source


def _file(config: RunConfig) -> str:
    _, file = config.env.tasks_from
    return str(Path(file).absolute()) if file else ""


def _file_of(home: Path) -> str:
    """The task file of a run; "" where its settings cannot be read."""
    with suppress(ConfigError):
        return _file(resolve(file_layers(home / CONFIG)).config)
    return ""
