"""The executor that isolates programs in a sandbox, by bubblewrap."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from skillopt_cli.executors import sandbox_init
from skillopt_cli.executors.mounts import MountPlan, mount_arguments, needed_by, parts_of
from skillopt_cli.executors.program_executor import ProgramExecutor
from skillopt_cli.executors.seccomp_filter import seccomp_filter
from skillopt_cli.executors.supervisor import Launch, ResourceLimits, supervise, unstartable
from skillopt_cli.executors.system_calls import KEYCTL
from skillopt_cli.ports import Finished

WRAPPER = "bwrap"
"""The name of bubblewrap, which creates the namespaces."""

_START = "/run/skillopt/sandbox_init.py"
_SOCKET = "/run/skillopt/service.sock"
_MACHINE = platform.machine()


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Bubblewrap, and what programs are kept from beyond the namespaces.

    Attributes:
        path: the program.
        seccomp: the filter of system calls; empty for none.
        keyctl: number of the system call by which programs get a session keyring of their own; 0
            leaves them that of this process.
    """

    path: str = WRAPPER
    seccomp: bytes = seccomp_filter(_MACHINE)
    keyctl: int = KEYCTL.number(_MACHINE) or 0


@dataclass(frozen=True, slots=True)
class FileAccess:
    """Files that programs may and may not read, besides the system's and their own.

    Attributes:
        readable: visible files and folders.
        hidden: invisible files and folders, even within visible ones; resolved paths.
    """

    readable: frozenset[Path] = frozenset()
    hidden: frozenset[Path] = frozenset()


class SandboxExecutor(ProgramExecutor):
    """The `Executor` that isolates, by bubblewrap.

    A program sees the system's folders, its own installation and the files its `argv` names, all
    read-only. It writes in its workspace, HOME and /tmp, sees only its own processes, and connects
    only to `service`.

    Args:
        root: folder of the workspaces.
        environment: variables of every program; None means the default search path only.
        wrapper: with all that this kind of processor can have, unless given.
    """

    isolates = True

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str] | None = None,
        limits: ResourceLimits | None = None,
        access: FileAccess | None = None,
        wrapper: Bubblewrap | None = None,
    ) -> None:
        super().__init__(root, environment, limits)
        self._access = access or FileAccess()
        self._wrapper = wrapper or Bubblewrap()

    async def _finished(self, launch: Launch) -> Finished:
        inside = self._arguments(launch)
        # Only the wrapper can write there, and it reports an exit only if a program started.
        with (
            tempfile.TemporaryFile(dir=launch.own) as status,
            wrapping(self._wrapper, launch.own) as (wrapper, handed),
        ):
            started = replace(
                launch,
                argv=[*wrapper, "--json-status-fd", str(status.fileno()), *inside],
                environment={"HOME": str(launch.home), "TMPDIR": "/tmp", **launch.environment},
                wrapped=True,
                handed=(*handed, status.fileno()),
            )
            finished = await supervise(started, self.limits)
            status.seek(0)
            if finished.returncode == 1 and b"exit-code" not in status.read():
                raise unstartable(launch.name, launch.cwd, finished.stderr.strip())
            return finished

    def _arguments(self, launch: Launch) -> list[str]:
        """Return the wrapper's arguments, the program and its own among them."""
        search = launch.environment.get("PATH", os.defpath)
        program = shutil.which(launch.name, path=search)
        if program is None:
            raise unstartable(launch.name, launch.cwd, "there is no such program")
        argv = [str(Path(program).absolute()), *launch.argv[1:]]
        shown = self._access.readable | launch.readable
        readable = {end for path in shown for end in (path.absolute(), path.resolve())}
        reads = {*readable, *_named_in(argv), *needed_by(Path(argv[0]), search)}
        keyctl = self._wrapper.keyctl
        return [*sandbox_arguments(launch, reads, self._access.hidden, self.limits, keyctl), *argv]


@contextmanager
def wrapping(wrapper: Bubblewrap, folder: Path) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Yield the start of a command that uses a wrapper, and the descriptors it has to inherit.

    Args:
        folder: for a temporary file.
    """
    if not wrapper.seccomp:
        yield [wrapper.path], ()
        return
    # One for each program, since reading it moves its position.
    with tempfile.TemporaryFile(dir=folder) as rules:
        rules.write(wrapper.seccomp)
        rules.seek(0)
        yield [wrapper.path, "--seccomp", str(rules.fileno())], (rules.fileno(),)


def sandbox_arguments(
    launch: Launch,
    reads: Iterable[Path],
    hidden: frozenset[Path],
    limits: ResourceLimits,
    keyctl: int,
) -> list[str]:
    """Return the wrapper's arguments: namespaces, mounts, and the first program inside.

    Args:
        keyctl: see `Bubblewrap`.
    """
    service = launch.service
    placed = [(_START, Path(sandbox_init.__file__))]
    if service is not None:
        placed.append((_SOCKET, service.socket.absolute()))
    plan = MountPlan(
        reads=frozenset([*reads, *_interpreter_needs()]),
        writes=(launch.workspace, launch.home),
        hidden=hidden,
        placed=tuple(placed),
        temporary=launch.temporary,
    )
    return [
        *("--unshare-all", "--die-with-parent", "--new-session"),
        # Root could otherwise mount inside, and make read-only folders writable.
        *("--cap-drop", "ALL"),
        *mount_arguments(plan),
        *("--chdir", str(launch.cwd.absolute())),
        "--",
        *(str(interpreter()), "-I", "-S", _START),
        *(str(service.port) if service else "0", _SOCKET),
        *(str(max(limits.workspace, limits.disk)), str(limits.threads), str(keyctl)),
    ]


def interpreter() -> Path:
    """Return Python without the packages of a virtual environment."""
    return Path(sys.executable).resolve()


@cache
def _interpreter_needs() -> frozenset[Path]:
    return frozenset([*needed_by(interpreter(), ""), *parts_of(Path(sys.base_prefix))])


def _named_in(argv: Sequence[str]) -> Iterator[Path]:
    for argument in argv:
        # Some texts cannot be paths.
        with suppress(OSError, ValueError):
            if argument.startswith("/") and (path := Path(argument)).is_file():
                yield path
