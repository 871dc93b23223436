"""Checks of the tasks, and of the texts a run starts from."""

from __future__ import annotations

from collections.abc import Iterator

from skillopt_cli.benchmarks.check import check_data
from skillopt_cli.compose.build import run_prompts
from skillopt_cli.compose.diagnosis.check import Check, fine, odd, wrong
from skillopt_cli.compose.skill_init import seed_skill
from skillopt_cli.compose.tasks import splits_in_use
from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS
from skillopt_cli.core.words import count
from skillopt_cli.ports import Benchmark, Executor


async def check_tasks(benchmark: Benchmark, executor: Executor) -> list[Check]:
    """The splits suffice and do not leak, as `skillopt data check` looks at them."""
    sizes = [f"{len(benchmark.tasks(split))} {split}" for split in SPLITS]
    told = all(size in benchmark.source for size in sizes)
    counts = "" if told else f" ({' / '.join(sizes)})"
    found = [fine("data", f"{benchmark.name}: {benchmark.source}{counts}")]
    more = f"`skillopt data check {benchmark.name}` says more"
    for finding in await check_data(benchmark, executor):
        if finding.level == "error":
            found.append(wrong("data", DataError(finding.what), finding.hint or more))
        elif finding.level == "warning":
            found.append(odd("data", finding.what, finding.hint or more))
    return found


def check_use(config: RunConfig, benchmark: Benchmark) -> Iterator[Check]:
    """The run finds the tasks that it asks for.

    Raises:
        DataError: it does not.
    """
    used = splits_in_use(config, benchmark)
    sizes = ", ".join(f"{len(tasks)} {split}" for split, tasks in used.items())
    yield fine("tasks used", sizes)


def check_texts(config: RunConfig, benchmark: Benchmark) -> Iterator[Check]:
    """Seed skill and prompts can be read.

    Raises:
        SkillOptError: one cannot.
    """
    run_prompts(config)
    seed = seed_skill(config.env, benchmark.seed_skill)
    source = config.env.skill_init or ("empty" if config.env.from_scratch else "the benchmark's")
    beside = f" and {count(len(seed.folder.files), 'file')} beside it" if seed.folder else ""
    yield fine("seed skill", f"{source}, {len(seed.text)} characters{beside}")
