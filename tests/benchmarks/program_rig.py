"""Executors for benchmarks whose attempts run programs, and an attempt without a run around it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from sandbox_rig import namespaces_or_skip

import skillopt_cli
from skillopt_cli.core.episode import ToolCall, ToolResult
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Task
from skillopt_cli.executors.program_executor import LocalExecutor, ProgramExecutor
from skillopt_cli.executors.sandbox import FileAccess, SandboxExecutor
from skillopt_cli.ports import Interactive

KINDS = ("local", "isolated")


def executor_of(kind: str, folder: Path, hidden: frozenset[Path] = frozenset()) -> ProgramExecutor:
    """An executor of either kind; the test is skipped where this machine has no namespaces."""
    environment = {"PATH": os.environ["PATH"]}
    if kind == "local":
        return LocalExecutor(folder / "attempts", environment)
    wrapper = namespaces_or_skip()
    package = Path(skillopt_cli.__file__).parent.resolve()
    access = FileAccess(hidden=hidden | {package})
    return SandboxExecutor(folder / "attempts", environment, None, access, wrapper)


def needs(*packages: str) -> None:
    """Skip the test where a package is missing."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"the package `{name}` is not installed", allow_module_level=True)


async def replied(
    benchmark: Interactive, task: Task, executor: ProgramExecutor, replies: Sequence[str]
) -> tuple[list[str | None], Score]:
    """What is said to each reply (None ends the attempt), and the score of the last one."""
    said: list[str | None] = []
    async with benchmark.episode(task, executor) as episode:
        for reply in replies:
            heard = await episode.hear(reply)
            said.append(heard.text if heard else None)
            last = reply
        made = Attempt(last, outcome=await episode.outcome(last))
    return said, await benchmark.score(task, made)


def call(name: str, arguments: str) -> ToolCall:
    """A tool call."""
    return ToolCall("1", name, arguments)


def text(result: ToolResult) -> str:
    """What a result says."""
    return result.text
