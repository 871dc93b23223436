"""The tasks in use: what makes results worthless is refused before any call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.compose.benchmark import splits_in_use
from skillopt_cli.compose.schedule import train_plan
from skillopt_cli.config.layers import assignment_layers, resolve
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS, Split, Task, TaskSet
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.testing import ToyBenchmark

SIZES: dict[Split, int] = {"train": 6, "selection": 4, "test": 4}


class Repeating(ToyBenchmark):
    """A selection task bears the id of a train task."""

    def tasks(self, split: Split) -> Sequence[Task]:
        tasks = super().tasks(split)
        if split != "selection":
            return tasks
        return (*tasks[:-1], replace(tasks[-1], id=super().tasks("train")[0].id))


class OneAnswer(ToyBenchmark):
    """Every task has the same answer."""

    def tasks(self, split: Split) -> Sequence[Task]:
        return [
            replace(task, data={**task.data, "answers": ["Billing"]})
            for task in super().tasks(split)
        ]


def test_the_sizes_that_are_asked_for_are_taken() -> None:
    settings = ("train.train_size=2", "evaluation.sel_env_num=3", "evaluation.test_env_num=0")
    config = resolve(assignment_layers(settings)).config
    found = splits_in_use(config, ToyBenchmark(SIZES))
    assert [len(tasks) for tasks in found.values()] == [2, 3, 4]


def test_where_fewer_train_tasks_are_there_all_are_taken() -> None:
    config = resolve(assignment_layers(["train.train_size=7", "train.batch_size=4"])).config
    toy = ToyBenchmark(SIZES)
    assert len(splits_in_use(config, toy)["train"]) == 6
    plan = train_plan(config, toy)
    assert (plan.train_size, plan.steps_per_epoch) == (6, 2)


async def test_an_id_of_two_tasks_is_refused_and_found_by_the_check(tmp_path: Path) -> None:
    benchmark = Repeating(SIZES)
    twice = benchmark.tasks("train")[0].id
    with pytest.raises(DataError, match=f"such as `{twice}`") as caught:
        splits_in_use(resolve([]).config, benchmark)
    assert "skillopt data check toy" in caught.value.hint
    found = await check_data(benchmark, LocalExecutor(tmp_path))
    errors = [f.what for f in found if f.level == "error"]
    assert f"1 task ids are used by more than one task: {twice}" in errors


@pytest.mark.parametrize("split", ["train", "selection", "test"])
async def test_an_empty_split_is_refused_and_found_by_the_check(
    split: Split, tmp_path: Path
) -> None:
    benchmark = ToyBenchmark({**SIZES, split: 0})
    with pytest.raises(DataError, match=f"the {split} split of benchmark `toy` is empty"):
        splits_in_use(resolve([]).config, benchmark)
    found = await check_data(benchmark, LocalExecutor(tmp_path))
    errors = [f.what for f in found if f.level == "error"]
    assert f"the {split} split is empty" in errors


@pytest.mark.parametrize("measured", [*SPLITS, "all"])
def test_an_evaluation_needs_only_what_it_measures(measured: TaskSet) -> None:
    sizes = dict.fromkeys(SPLITS, 0) | {SPLITS[0] if measured == "all" else measured: 2}
    found = splits_in_use(resolve([]).config, ToyBenchmark(sizes), measured)
    assert {split: len(tasks) for split, tasks in found.items()} == sizes
    with pytest.raises(DataError, match="`toy` is empty"):
        splits_in_use(resolve([]).config, ToyBenchmark(dict.fromkeys(SPLITS, 0)), measured)


async def test_tasks_with_one_answer_are_refused_as_by_the_check_and_may_be_measured(
    tmp_path: Path,
) -> None:
    config, benchmark = resolve([]).config, OneAnswer(SIZES)
    found = await check_data(benchmark, LocalExecutor(tmp_path))
    errors = [(f.what, f.hint) for f in found if f.level == "error"]
    with pytest.raises(DataError, match=r'always answering "billing" scores 1\.00') as caught:
        splits_in_use(config, benchmark)
    assert (caught.value.message, caught.value.hint) in errors
    assert splits_in_use(config, benchmark, "all") == splits_in_use(config, benchmark, "test")
