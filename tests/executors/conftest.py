"""Both executors, the isolating one where this machine can have it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox_rig import namespaces_or_skip

from skillopt_cli.executors.program_executor import LocalExecutor, ProgramExecutor
from skillopt_cli.executors.sandbox import Bubblewrap, FileAccess, SandboxExecutor
from skillopt_cli.executors.supervisor import ResourceLimits

MakeExecutor = Callable[..., ProgramExecutor]


@pytest.fixture
def wrapper() -> Bubblewrap:
    return namespaces_or_skip()


@pytest.fixture
def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"]}


@pytest.fixture
def local(tmp_path: Path, environment: dict[str, str]) -> MakeExecutor:
    def make(
        limits: ResourceLimits | None = None, access: FileAccess | None = None
    ) -> ProgramExecutor:
        return LocalExecutor(tmp_path / "attempts", environment, limits)

    return make


@pytest.fixture
def isolated(tmp_path: Path, environment: dict[str, str], wrapper: Bubblewrap) -> MakeExecutor:
    def make(
        limits: ResourceLimits | None = None, access: FileAccess | None = None
    ) -> ProgramExecutor:
        return SandboxExecutor(tmp_path / "attempts", environment, limits, access, wrapper)

    return make


@pytest.fixture(params=["local", "isolated"])
def either(request: pytest.FixtureRequest) -> MakeExecutor:
    made: MakeExecutor = request.getfixturevalue(request.param)
    return made
