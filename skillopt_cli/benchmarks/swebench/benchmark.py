"""The SWE-bench benchmark: faults in repositories, fixed with tools and judged by hidden tests.

Data: Jimenez et al., "SWE-bench: Can Language Models Resolve Real-World GitHub Issues?" (2024).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from skillopt_cli.benchmarks.kit.benchmark import EpisodeBenchmark
from skillopt_cli.benchmarks.kit.options import BenchmarkOptions
from skillopt_cli.benchmarks.kit.programs import absent
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.swebench.docker import DOCKER, DockerRepositories
from skillopt_cli.benchmarks.swebench.episode import RepairEpisode, examined, score_of
from skillopt_cli.benchmarks.swebench.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.swebench.process import LocalRepositories
from skillopt_cli.benchmarks.swebench.prompts import PROMPTS
from skillopt_cli.benchmarks.swebench.repositories import Repositories
from skillopt_cli.benchmarks.swebench.tasks import instance_task
from skillopt_cli.benchmarks.swebench.tools import Tools
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task
from skillopt_cli.ports import BenchmarkRequest, Executor


class SweOptions(BenchmarkOptions):
    """The `env.*` keys of the swebench benchmark."""

    max_turns: int = Field(50, ge=1)
    """Replies at most."""
    command_timeout: float = Field(60.0, gt=0)
    """Seconds a command of the target may take."""
    test_timeout: float = Field(1800.0, gt=0)
    """Seconds the tests of one instance may take."""
    runner: Literal["auto", "process", "docker"] = "auto"
    """process: programs of this machine, with the instance's `python`; docker: the published image
    of the instance; auto: process where the record brings its repository, else docker."""
    repos: str = ""
    """Folder of git clones named owner__name, for records that bring no files of their own."""


class SweBench(EpisodeBenchmark[SweOptions]):
    """SWE-bench instances; see `ports.Interactive`."""

    name = "swebench"
    prompts = PROMPTS
    needs = frozenset({"tools"})
    options_type = SweOptions
    sample = Path(__file__).parent / "sample"
    extra = "swe"

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        # How the instances are found does not matter, what is made of them does.
        asked = self.options.model_dump(exclude={"repos"})
        self.version = f"2-{json.dumps(asked, sort_keys=True)}"
        self.max_turns = self.options.max_turns

    @classmethod
    def missing(cls) -> str:
        """The packages and programs that are absent on this machine."""
        return absent("pytest", programs=("git", "bash"))

    def task(self, record: Record) -> Task:
        """An instance."""
        return instance_task(record)

    def content(self, task: Task) -> Iterable[str]:
        """The issue and the hidden tests."""
        return [task.data["problem_statement"], task.data["test_patch"]]

    def brief(self, task: Task) -> Brief:
        """The issue and the tools."""
        return replace(super().brief(task), tools=tuple(offer.tool for offer in Tools().offers))

    def sections(self, task: Task) -> Sequence[Section]:
        """The issue. Neither the tests nor the patch that fixed it are shown."""
        data = task.data
        return [Section("Repository", data["repo"]), Section("Task", data["problem_statement"])]

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[RepairEpisode]:
        """The target works in a checkout of its own."""
        repositories = self._repositories(task, executor)
        async with repositories.open(task) as checkout:
            yield RepairEpisode(task, repositories, checkout, self.options.command_timeout)

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The patch that fixed the fault, tested."""
        repositories = self._repositories(task, executor)
        outcome = await examined(task, repositories, task.data["patch"])
        return Attempt("(the reference)", outcome=outcome)

    def given_up(self, task: Task, attempt: Attempt) -> Score:
        """0: whatever was changed, the target did not end its work."""
        return Score(0.0, 0.0, "swebench unresolved: no answer was given")

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """1 when every named test passes, else 0."""
        return score_of(task, attempt.outcome)

    def _repositories(self, task: Task, executor: Executor) -> Repositories:
        options = self.options
        here = LocalRepositories(
            executor, Path(options.repos) if options.repos else None, options.test_timeout
        )
        if options.runner == "process" or (options.runner == "auto" and here.has(task)):
            return here
        if shutil.which(DOCKER):
            return DockerRepositories(executor, options.test_timeout)
        raise DataError(
            f"the instance `{task.id}` has neither a repository here nor Docker to run its image",
            "install Docker, or name a folder of clones with env.repos",
        )


SPEC = SweBench.spec(
    "faults of repositories, fixed with tools and judged by hidden tests",
    modality=("text", "tools", "code"),
    sizes=COUNTS,
    prepare=prepare,
    runs_programs=True,
    cpus=1.0,
    memory_mb=4000,
)
