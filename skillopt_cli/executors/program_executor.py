"""The base of the executors, which creates the folders of a run; the executor without isolation."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

from skillopt_cli.executors.supervisor import Launch, ResourceLimits, supervise
from skillopt_cli.executors.workspaces import fresh_folder, workspace_of
from skillopt_cli.permissions import make_folder
from skillopt_cli.ports import Finished, ServiceAddress


class ProgramExecutor(ABC):
    """An `Executor` for programs of this machine.

    Args:
        root: folder of the workspaces.
        environment: variables of every program; None means the default search path only.
    """

    isolates: bool

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str] | None = None,
        limits: ResourceLimits | None = None,
    ) -> None:
        self.root = root.absolute()
        self.limits = limits or ResourceLimits()
        self._environment = {"PATH": os.defpath} if environment is None else environment

    def workspace(self, name: str) -> AbstractAsyncContextManager[Path]:
        """Create a folder whose name starts like `name`; remove it afterwards."""
        return fresh_folder(self.root, name)

    async def run(  # noqa: PLR0913 - the protocol's own shape
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        stdin: str = "",
        limit: float,
        environment: Mapping[str, str] | None = None,
        service: ServiceAddress | None = None,
        readable: Collection[Path] = (),
    ) -> Finished:
        """See `Executor.run`."""
        async with fresh_folder(self.root, "run") as own:
            launch = Launch(
                name=argv[0],
                argv=argv,
                cwd=cwd,
                workspace=workspace_of(self.root, cwd),
                stdin=stdin,
                environment={**self._environment, **(environment or {})},
                limit=limit,
                service=service,
                own=own,
                readable=frozenset(readable),
            )
            make_folder(launch.home)
            make_folder(launch.temporary)
            return await self._finished(launch)

    @abstractmethod
    async def _finished(self, launch: Launch) -> Finished:
        """Run a program, whose variables do not include HOME and TMPDIR unless they are set.

        Raises:
            BackendError: it cannot be started.
        """


class LocalExecutor(ProgramExecutor):
    """The `Executor` that cleans up after programs, without isolation.

    A program has all permissions of its user.
    """

    isolates = False

    async def _finished(self, launch: Launch) -> Finished:
        own = {"HOME": str(launch.home), "TMPDIR": str(launch.temporary)}
        launch = replace(launch, environment={**own, **launch.environment})
        return await supervise(launch, self.limits)
