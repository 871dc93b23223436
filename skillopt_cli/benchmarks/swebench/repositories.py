"""Where an instance's repository is worked on and tested: the seam between machines and Docker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Protocol

from skillopt_cli.benchmarks.swebench.patches import paths_of
from skillopt_cli.core.errors import EpisodeFailed
from skillopt_cli.core.task import Task
from skillopt_cli.ports import Finished

LARGEST_PATCH = 1_000_000
"""Characters of a model's patch."""
NOISE = ("__pycache__/", "*.pyc", ".pytest_cache/", "*.egg-info/", ".mypy_cache/", ".ruff_cache/")
"""What running programs leaves in a repository; never part of a patch."""
AS_IT_IS = "* !text !eol !filter !ident !working-tree-encoding !diff"
"""Attributes over those of a repository's own, which a target may write: a patch keeps bytes."""
DIFF = "git diff --cached --no-renames --no-ext-diff --no-textconv --no-color"
APPLY = "git apply --whitespace=nowarn {0} || patch --batch --fuzz=5 -p1 -i {0}"
SETUP_SECONDS = 600.0
_STEERING = frozenset({
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini"),
    *("setup.cfg", "pyproject.toml", "sitecustomize.py", "usercustomize.py"),
})
_RUNNER = frozenset({"pytest", "_pytest", "pluggy", "iniconfig"})
_NO_TESTS = (
    *(".json", ".png", ".csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml"),
)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command printed, and how it ended.

    Attributes:
        late: whether it was killed at its time limit.
    """

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


class Checkout(Protocol):
    """A checkout of an instance's repository, in which a target works."""

    async def run(self, command: str, limit: float) -> CommandResult:
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


class Repositories(Protocol):
    """Makes checkouts of instances, and tests patches on fresh ones."""

    def open(self, task: Task) -> AbstractAsyncContextManager[Checkout]:
        """A fresh checkout, removed afterwards."""
        ...

    async def tested(self, task: Task, patch: str) -> CommandResult | None:
        """The run of the tests on a fresh checkout with the model's patch, and then the tests' own.

        None when the model's patch cannot be applied.

        Raises:
            EpisodeFailed: that cannot be found out through no fault of the patch.
        """
        ...


def output(done: Finished) -> str:
    """What a program printed, without empty lines at the end."""
    return "\n".join(part.rstrip("\n") for part in (done.stdout, done.stderr) if part.strip())


def require_success(done: Finished, fault: str) -> None:
    """Raise for a program that failed.

    Raises:
        EpisodeFailed: it did; the message begins with `fault`.
    """
    if done.returncode:
        printed = " ".join((done.stderr or done.stdout).split())[-300:]
        raise EpisodeFailed(f"{fault}: {printed}")


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
    """Whether a file configures how an instance's tests are run, or is taken for what runs them."""
    place = PurePosixPath(path)
    first = place.parts[0].removesuffix(".py") if place.parts else ""
    return (
        place.name in _STEERING
        or first in _RUNNER
        or path in {str(PurePosixPath(word)) for word in data.get("test_command", ())}
    )


def _overlap(one: PurePosixPath, other: PurePosixPath) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)
