"""What both executors share: folders of an attempt, and the course of one program's run."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.executors.bounds import Bounds
from skillopt_cli.executors.folders import fresh_folder, workspace_of
from skillopt_cli.executors.supervisor import Launch, supervise
from skillopt_cli.ports import Finished, Reach


@dataclass(frozen=True, slots=True)
class Job:
    """A program to be run for an attempt, and the folders that are its own.

    Attributes:
        workspace: what it may write in besides home and temporary.
        environment: all it sees; HOME and TMPDIR are still to be named, unless they are.
        limit: seconds.
        own: an existing folder of this very run, which holds `home` and `temporary`.
        readable: what it may read that it would not see otherwise.
    """

    argv: Sequence[str]
    cwd: Path
    workspace: Path
    stdin: str
    environment: Mapping[str, str]
    limit: float
    reach: Reach | None
    own: Path
    readable: frozenset[Path] = frozenset()

    @property
    def home(self) -> Path:
        """The folder that is HOME unless the environment says otherwise."""
        return self.own / "home"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files."""
        return self.own / "tmp"

    @property
    def written(self) -> tuple[Path, ...]:
        """All folders it may write in."""
        return self.workspace, self.home, self.temporary


class ProgramExecutor(ABC):
    """An `Executor` for programs of this machine.

    Args:
        root: where workspaces are made.
        environment: what every program sees; None gives them the system's default search path only.
    """

    isolates: bool

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str] | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.root = root.absolute()
        self.bounds = bounds or Bounds()
        self._environment = {"PATH": os.defpath} if environment is None else environment

    def workspace(self, name: str) -> AbstractAsyncContextManager[Path]:
        """A fresh folder whose name starts like `name`, removed afterwards."""
        return fresh_folder(self.root, name)

    async def run(  # noqa: PLR0913 - the protocol's own shape
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        stdin: str = "",
        limit: float,
        environment: Mapping[str, str] | None = None,
        reach: Reach | None = None,
        readable: Collection[Path] = (),
    ) -> Finished:
        """See `Executor.run`."""
        async with fresh_folder(self.root, "run") as own:
            job = Job(
                argv=argv,
                cwd=cwd,
                workspace=workspace_of(self.root, cwd),
                stdin=stdin,
                environment={**self._environment, **(environment or {})},
                limit=limit,
                reach=reach,
                own=own,
                readable=frozenset(readable),
            )
            job.home.mkdir()
            job.temporary.mkdir()
            return await self._finished(job)

    async def _finished(self, job: Job) -> Finished:
        return await supervise(self._launch(job), self.bounds)

    @abstractmethod
    def _launch(self, job: Job) -> Launch:
        """How the program is really started.

        Raises:
            BackendError: it cannot be.
        """
