"""The seam to executors: where an attempt may touch files and start processes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that ended, or was ended. Output is bounded.

    Attributes:
        timed_out: it reached its time limit and was killed.
        stopped: why the executor ended it before that, such as "the workspace grew beyond 1000 MB";
            empty when it did not. Such an attempt is broken.
    """

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The one service a program may connect to: `127.0.0.1:port`.

    Attributes:
        socket: where the same service listens as a Unix socket, for a program without a network.
    """

    port: int
    socket: Path


class Executor(Protocol):
    """Where an attempt may touch files and start processes.

    Attributes:
        isolates: whether programs are kept from everything but the system, their workspace and
            `service`. Then a sandbox that a program brings itself is not needed, and may fail.
    """

    isolates: bool

    def workspace(self, name: str) -> AbstractAsyncContextManager[Path]:
        """A fresh, empty folder for one attempt, removed afterwards.

        Its owner lays it out: where a program needs files of its own beside those it works on, the
        one goes into one subfolder and the other into another.
        """
        ...

    async def run(  # noqa: PLR0913 - like a call of a program itself, with nothing to group
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
        """Run a program to its end; nothing it started is left afterwards.

        Args:
            argv: the program and its arguments, from configuration only: files named here by an
                absolute path may be read. Text of a task or skill goes to `stdin` or into files.
            cwd: a workspace, or a folder in one; the program may write in the whole workspace.
            limit: seconds until it and all its children are killed.
            environment: what it sees beyond the few harmless variables that every program sees.
                HOME and TMPDIR are fresh folders of this very run unless named here.
            reach: what it may connect to where the executor keeps the network from it.
            readable: files and folders it may read beyond the system's and its own installation,
                such as the packages an interpreter finds elsewhere. What is the run's own stays
                hidden although it lies in one of them. As `argv`, from configuration only.

        Raises:
            BackendError: it could not be started.
        """
        ...
