"""Both executors, the isolating one where this machine can have it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt_cli.executors.bounds import Bounds
from skillopt_cli.executors.local import LocalExecutor
from skillopt_cli.executors.namespace import NamespaceExecutor, Sight, refusal
from skillopt_cli.executors.programs import ProgramExecutor

MakeExecutor = Callable[..., ProgramExecutor]


def namespaces_or_skip() -> str:
    """Bubblewrap's path."""
    wrapper = shutil.which("bwrap")
    reason = refusal(wrapper) if wrapper else "bubblewrap is not installed"
    if wrapper is None or reason:
        pytest.skip(f"no namespaces here: {reason}")
    return wrapper


@pytest.fixture
def wrapper() -> str:
    return namespaces_or_skip()


@pytest.fixture
def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"]}


@pytest.fixture
def local(tmp_path: Path, environment: dict[str, str]) -> MakeExecutor:
    def make(bounds: Bounds | None = None, sight: Sight | None = None) -> ProgramExecutor:
        return LocalExecutor(tmp_path / "attempts", environment, bounds)

    return make


@pytest.fixture
def isolated(tmp_path: Path, environment: dict[str, str], wrapper: str) -> MakeExecutor:
    def make(bounds: Bounds | None = None, sight: Sight | None = None) -> ProgramExecutor:
        return NamespaceExecutor(tmp_path / "attempts", environment, bounds, sight, wrapper)

    return make


@pytest.fixture(params=["local", "isolated"])
def either(request: pytest.FixtureRequest) -> MakeExecutor:
    made: MakeExecutor = request.getfixturevalue(request.param)
    return made
