"""Programs in namespaces of their own: they see the system, their workspace, and one service."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from skillopt_cli.core.temporary import own_prefix
from skillopt_cli.executors import start
from skillopt_cli.executors.bounds import Bounds
from skillopt_cli.executors.installation import needed_by, parts_of
from skillopt_cli.executors.mounts import View, mount_arguments
from skillopt_cli.executors.programs import Job, ProgramExecutor
from skillopt_cli.executors.supervisor import Launch, supervise, unstartable
from skillopt_cli.ports import Finished

WRAPPER = "bwrap"
"""Bubblewrap, which makes the namespaces."""

_START = "/run/skillopt/start.py"
_SOCKET = "/run/skillopt/service.sock"
_TRIAL_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Sight:
    """What programs see of the machine beyond the system and their own installation.

    Attributes:
        readable: files and folders they may read.
        hidden: files and folders they may not, wherever these lie; resolved paths.
    """

    readable: frozenset[Path] = frozenset()
    hidden: frozenset[Path] = frozenset()


class NamespaceExecutor(ProgramExecutor):
    """The `Executor` that isolates, by bubblewrap.

    A program sees the system's folders, its own installation and the files its `argv` names, all
    read-only; it writes in its workspace, HOME and /tmp, sees no process but its own, and reaches
    nothing but `reach`.

    Args:
        root: where workspaces are made.
        environment: what every program sees; None gives them the system's default search path only.
        wrapper: bubblewrap's path.
    """

    isolates = True

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str] | None = None,
        bounds: Bounds | None = None,
        sight: Sight | None = None,
        wrapper: str = WRAPPER,
    ) -> None:
        super().__init__(root, environment, bounds)
        self._sight = sight or Sight()
        self._wrapper = wrapper

    async def _finished(self, job: Job) -> Finished:
        # Only the wrapper can write there, and tells of an exit only where a program began.
        with tempfile.TemporaryFile(dir=job.own) as status:
            launch = self._launch(job)
            wrapper, *rest = launch.argv
            told = [wrapper, "--json-status-fd", str(status.fileno()), *rest]
            launch = replace(launch, argv=told, handed=(status.fileno(),))
            finished = await supervise(launch, self.bounds)
            status.seek(0)
            if finished.returncode == 1 and b"exit-code" not in status.read():
                raise unstartable(job.argv[0], job.cwd, finished.stderr.strip())
            return finished

    def _launch(self, job: Job) -> Launch:
        search = job.environment.get("PATH", os.defpath)
        program = shutil.which(job.argv[0], path=search)
        if program is None:
            raise unstartable(job.argv[0], job.cwd, "there is no such program")
        argv = [str(Path(program).absolute()), *job.argv[1:]]
        shown = self._sight.readable | job.readable
        wished = {end for path in shown for end in (path.absolute(), path.resolve())}
        reads = {*wished, *_named_in(argv), *needed_by(Path(argv[0]), search)}
        own = {"HOME": str(job.home), "TMPDIR": "/tmp"}
        return Launch(
            name=job.argv[0],
            argv=[
                self._wrapper,
                *_namespaces(job, reads, self._sight.hidden),
                *_first_program(job, self.bounds),
                *argv,
            ],
            cwd=job.cwd,
            stdin=job.stdin,
            environment={**own, **job.environment},
            limit=job.limit,
            written=job.written,
            streams=job.own,
            wrapped=True,
        )


def _namespaces(job: Job, reads: Iterable[Path], hidden: frozenset[Path]) -> list[str]:
    placed = [(_START, Path(start.__file__))]
    if job.reach is not None:
        placed.append((_SOCKET, job.reach.socket.absolute()))
    view = View(
        reads=frozenset([*reads, *_interpreter_needs()]),
        writes=(job.workspace, job.home),
        hidden=hidden,
        placed=tuple(placed),
        temporary=job.temporary,
    )
    return [
        *("--unshare-all", "--die-with-parent", "--new-session"),
        # Root would keep the right to mount inside, and so to make writable what is not.
        *("--cap-drop", "ALL"),
        *mount_arguments(view),
        *("--chdir", str(job.cwd.absolute())),
        "--",
    ]


def _first_program(job: Job, bounds: Bounds) -> list[str]:
    return [
        *(str(_interpreter()), "-I", "-S", _START),
        *(str(job.reach.port) if job.reach else "0", _SOCKET),
        *(str(max(bounds.workspace, bounds.disk)), str(bounds.threads)),
    ]


def _interpreter() -> Path:
    """Python itself, without the packages of a virtual environment."""
    return Path(sys.executable).resolve()


@cache
def _interpreter_needs() -> frozenset[Path]:
    return frozenset([*needed_by(_interpreter(), ""), *parts_of(Path(sys.base_prefix))])


def _named_in(argv: Sequence[str]) -> Iterator[Path]:
    for argument in argv:
        # Not every text can be a path.
        with suppress(OSError, ValueError):
            if argument.startswith("/") and (path := Path(argument)).is_file():
                yield path


@cache
def refusal(wrapper: str) -> str:
    """Why namespaces cannot be had on this machine, found by trying once; empty when they can.

    Args:
        wrapper: bubblewrap's path.
    """
    program = [str(_interpreter()), "-I", "-S", "-c", "pass"]
    with tempfile.TemporaryDirectory(prefix=own_prefix()) as name:
        own = Path(name)
        job = Job(program, own, own, "", {}, _TRIAL_SECONDS, None, own)
        job.home.mkdir()
        job.temporary.mkdir()
        argv = [
            wrapper,
            *_namespaces(job, needed_by(Path(program[0]), ""), frozenset()),
            *_first_program(job, Bounds()),
            *program,
        ]
        try:
            done = subprocess.run(argv, capture_output=True, timeout=_TRIAL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"a trial of it did not end within {_TRIAL_SECONDS:g} seconds"
        except OSError as error:
            return f"it cannot be started: {error.strerror}"
    if done.returncode == 0:
        return ""
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"a trial of it ended with code {done.returncode}"
