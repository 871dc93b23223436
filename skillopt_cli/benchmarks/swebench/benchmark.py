"""The SWE-bench benchmark: faults in repositories, mended with tools and judged by hidden tests.

Data: Jimenez et al., "SWE-bench: Can Language Models Resolve Real-World GitHub Issues?" (2024).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from skillopt_cli.benchmarks.analysts import analyst_prompts
from skillopt_cli.benchmarks.options import read_options
from skillopt_cli.benchmarks.programs import absent
from skillopt_cli.benchmarks.splits import Splits, SplitTasks, TaskFormat, load_splits
from skillopt_cli.benchmarks.swebench import texts
from skillopt_cli.benchmarks.swebench.docker import DOCKER, DockerYard
from skillopt_cli.benchmarks.swebench.episode import Mending, examined, score_of
from skillopt_cli.benchmarks.swebench.instances import content_of, instance_task
from skillopt_cli.benchmarks.swebench.options import NAME, SweOptions
from skillopt_cli.benchmarks.swebench.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.swebench.process import ProcessYard
from skillopt_cli.benchmarks.swebench.sites import Yard
from skillopt_cli.benchmarks.swebench.tools import Tools
from skillopt_cli.core.episode import Episode
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec, Executor

SAMPLE = Path(__file__).parent / "sample"
EXTRA = "swe"


class SweBench(SplitTasks):
    """SWE-bench instances; see `ports.Interactive`."""

    name = NAME
    seed_skill = texts.SEED_SKILL
    needs = frozenset({"tools"})

    def __init__(self, splits: Splits, options: SweOptions) -> None:
        super().__init__(splits)
        # How the instances are found does not matter, what is made of them does.
        asked = options.model_dump(exclude={"repos"})
        self.version = f"1-{json.dumps(asked, sort_keys=True)}"
        self._options = options

    def brief(self, task: Task) -> Brief:
        """The issue. Neither the tests nor the patch that mended it are told."""
        tools = tuple(offer.tool for offer in Tools().offers)
        return Brief(
            task.id,
            texts.ROLE,
            (
                Section("Repository", task.data["repo"]),
                Section("Task", task.data["problem_statement"]),
            ),
            texts.ANSWER_FORMAT,
            tools=tools,
            max_turns=self._options.max_turns,
        )

    def episode(self, task: Task, executor: Executor) -> AbstractAsyncContextManager[Episode]:
        """The target works in a checkout of its own."""
        return self._episode(task, executor)

    @asynccontextmanager
    async def _episode(self, task: Task, executor: Executor) -> AsyncIterator[Episode]:
        yard = self._yard(task, executor)
        async with yard.open(task) as site:
            yield Mending(task, yard, site, self._options.command_timeout)

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The patch that mended the fault, tested."""
        yard = self._yard(task, executor)
        patch = task.data["patch"]
        return Attempt("(the reference)", outcome=await examined(task, yard, patch))

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """1 when every named test passes, else 0."""
        if attempt.ending == "gave_up":
            return Score(0.0, 0.0, "swebench unresolved: no answer was given")
        return score_of(task, attempt.outcome)

    def _yard(self, task: Task, executor: Executor) -> Yard:
        options = self._options
        here = ProcessYard(
            executor, Path(options.repos) if options.repos else None, options.test_timeout
        )
        if options.runner == "process" or (options.runner == "auto" and here.has(task)):
            return here
        if shutil.which(DOCKER):
            return DockerYard(executor, options.test_timeout)
        raise DataError(
            f"the instance `{task.id}` has neither a repository here nor Docker to run its image",
            "install Docker, or name a folder of clones with env.repos",
        )


def open_swebench(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks: named splits, prepared data, or the bundled sample.

    Raises:
        ConfigError: an option is unknown or malformed.
        DataError: a file or record is unusable, or a program is missing.
    """
    options = read_options(SweOptions, request.options, NAME)
    if lacking := missing():
        raise DataError(f"{NAME} needs {lacking}", f"pip install 'skillopt-cli[{EXTRA}]'")
    form = TaskFormat(instance_task, content_of)
    return SweBench(load_splits(request, NAME, form, SAMPLE), options)


def missing() -> str:
    """The packages and programs that are absent on this machine."""
    packages = [f"the package `{name}`" for name in absent("pytest")]
    programs = [f"the program `{name}`" for name in ("git", "bash") if not shutil.which(name)]
    return ", ".join([*packages, *programs])


SPEC = BenchmarkSpec(
    name=NAME,
    summary="faults of repositories, mended with tools and judged by hidden tests",
    open=open_swebench,
    options=SweOptions,
    modality=("text", "tools", "code"),
    sizes=COUNTS,
    prepare=prepare,
    sample=SAMPLE,
    extra=EXTRA,
    missing=missing,
    runs_programs=True,
    prompts=analyst_prompts(texts.FAILURES, texts.SUCCESSES),
)
