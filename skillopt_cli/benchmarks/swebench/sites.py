"""Where an instance's repository is worked on and tested: the seam between machines and Docker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Protocol

from skillopt_cli.benchmarks.swebench.patches import paths_of
from skillopt_cli.core.task import Task

LARGEST_PATCH = 1_000_000
"""Characters of a model's patch."""
NOISE = ("__pycache__/", "*.pyc", ".pytest_cache/", "*.egg-info/", ".mypy_cache/", ".ruff_cache/")
"""What running programs leaves in a repository; never part of a patch."""
AS_IT_IS = "* !text !eol !filter !ident !working-tree-encoding !diff"
"""Attributes over those of a repository's own, which a target may write: a patch keeps bytes."""
_STEERING = frozenset({
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini"),
    *("setup.cfg", "pyproject.toml", "sitecustomize.py", "usercustomize.py"),
})
_RUNNER = frozenset({"pytest", "_pytest", "pluggy", "iniconfig"})
_NO_TESTS = (
    *(".json", ".png", ".csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml"),
)


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed, and how it ended."""

    text: str
    code: int
    late: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What was changed in a repository.

    Attributes:
        paths: all files that are not as they were.
    """

    patch: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tested:
    """What came of an instance's tests.

    Attributes:
        applied: whether the model's patch could be applied.
        log: what the tests printed.
        late: whether they were killed at the time limit.
        code: what the run of the tests ended with.
    """

    applied: bool
    log: str = ""
    late: bool = False
    code: int = 0


class Site(Protocol):
    """A checkout of an instance's repository, in which a target works."""

    async def run(self, command: str, limit: float) -> Said:
        """Run a shell command in the repository's folder."""
        ...

    async def read(self, name: str) -> str:
        """A file of the repository; raises ToolFault."""
        ...

    async def write(self, name: str, text: str) -> None:
        """Write a file of the repository; raises ToolFault."""
        ...

    async def changes(self) -> Changes:
        """What is no longer as it was."""
        ...


class Yard(Protocol):
    """Makes checkouts of instances, and tests patches on fresh ones."""

    def open(self, task: Task) -> AbstractAsyncContextManager[Site]:
        """A fresh checkout, removed afterwards."""
        ...

    async def tested(self, task: Task, patch: str) -> Tested:
        """The tests' log on a fresh checkout with the model's patch, and then the tests' own.

        Raises:
            EpisodeFailed: that cannot be found out through no fault of the patch.
        """
        ...


def test_files(data: Mapping[str, Any]) -> list[str]:
    """The files whose tests are run: those of the test patch, and those that named tests are in."""
    patched = [p for p in paths_of(data["test_patch"]) if not p.endswith(_NO_TESTS)]
    named = [
        name.partition("::")[0]
        for name in (*data["fail_to_pass"], *data["pass_to_pass"])
        if "::" in name
    ]
    return sorted({*patched, *named})


def kept_apart(paths: Sequence[str], test_patch: str) -> list[str]:
    """Those of the paths that belong to the hidden tests; a patch must not touch them.

    One that lies where a folder of theirs would, or below one of them, is in their way as well.
    """
    hidden = [PurePosixPath(path) for path in paths_of(test_patch)]
    return [path for path in paths if any(_overlap(PurePosixPath(path), one) for one in hidden)]


def steers_tests(path: str, data: Mapping[str, Any]) -> bool:
    """Whether a file says how an instance's tests are run, or is taken for what runs them."""
    place = PurePosixPath(path)
    first = place.parts[0].removesuffix(".py") if place.parts else ""
    return (
        place.name in _STEERING
        or first in _RUNNER
        or path in {str(PurePosixPath(word)) for word in data.get("test_command", ())}
    )


def _overlap(one: PurePosixPath, other: PurePosixPath) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)
