"""The tasks of a run: those it will use, refused where no result could be trusted."""

from __future__ import annotations

from collections import Counter

from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS, Split, Task
from skillopt_cli.core.words import count
from skillopt_cli.ports import Benchmark


def splits_in_use(config: RunConfig, benchmark: Benchmark) -> dict[Split, tuple[Task, ...]]:
    """The tasks of each split that the run will use.

    Raises:
        DataError: a split is empty, an id occurs twice, or more train tasks are asked for than
            there are.
    """
    tasks = {split: tuple(benchmark.tasks(split)) for split in SPLITS}
    _refuse_faults(benchmark.name, tasks)
    wanted = config.train.train_size
    if wanted > len(tasks["train"]):
        held = count(len(tasks["train"]), "task")
        raise DataError(
            f"train.train_size is {wanted}, but the train split holds {held}",
            "lower it, or set 0 to take the whole split",
        )
    evaluation = config.evaluation
    return {
        "train": tasks["train"][: wanted or None],
        "selection": tasks["selection"][: evaluation.sel_env_num or None],
        "test": tasks["test"][: evaluation.test_env_num or None],
    }


def _refuse_faults(name: str, tasks: dict[Split, tuple[Task, ...]]) -> None:
    """Stop before any call where marks, which are kept by id, could not be told apart."""
    hint = f"mend the benchmark or its data; `skillopt data check {name}` lists such faults"
    for split, part in tasks.items():
        if not part:
            raise DataError(f"the {split} split of benchmark `{name}` is empty", hint)
    ids = Counter(task.id for part in tasks.values() for task in part)
    repeated = [task_id for task_id, times in ids.items() if times > 1]
    if repeated:
        raise DataError(
            f"benchmark `{name}` has {len(repeated)} task id(s) more than once,"
            f" such as `{repeated[0]}`",
            hint,
        )
