"""Where the attempts of a run may start programs: isolated where this machine can do that."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

import skillopt_cli
from skillopt_cli.compose.secrets import known_secrets
from skillopt_cli.config import RunConfig
from skillopt_cli.config.section import is_address
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Degraded, Role
from skillopt_cli.core.secrets import Hide
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.executors.redacting import Redacting
from skillopt_cli.executors.sandbox import WRAPPER, Bubblewrap, FileAccess, SandboxExecutor
from skillopt_cli.executors.sandbox_trial import SandboxSupport, sandbox_support
from skillopt_cli.executors.supervisor import ResourceLimits
from skillopt_cli.executors.workspaces import owner_pid, remove_folder, temp_prefix
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.ports import BackendSpec, Executor

HARMLESS = ("PATH", "LANG", "LC_ALL", "TZ")
"""The variables every program of an attempt sees: no key, no home."""


_NETWORKED = "its program needs the network, so it is not isolated and can read your files"
_OWN = "its program may need the network, so it is not isolated and can read your files"
ISOLATE = "; `run.executor=namespace` isolates one that needs none"
"""What the warning of a program of the user ends with."""


@dataclass(frozen=True, slots=True)
class ExecutorContext:
    """What an executor is made for.

    Attributes:
        folder: the run folder.
        workspaces: where attempts get their folders.
        environment: variables by name.
        hide: returns a text without any secret in it; what programs print passes it.
    """

    folder: Path
    workspaces: Path
    environment: Mapping[str, str]
    hide: Hide = str


def open_executor(
    config: RunConfig,
    place: ExecutorContext,
    player: BackendSpec | None = None,
    role: Role = "target",
) -> tuple[Executor, tuple[Degraded, ...]]:
    """The executor that `run.executor` asks for, and what is to be said about a weaker one.

    Args:
        player: who plays the role; None where nobody does.
        role: whose programs are to run in it.

    Raises:
        ConfigError: namespaces are asked for, and this machine has none.
    """
    # What a run on a cluster does itself, such as checks of scripts, is done as without one.
    wish = "auto" if config.run.executor == "ray" else config.run.executor
    harmless = {name: place.environment[name] for name in HARMLESS if name in place.environment}
    limits = ResourceLimits(workspace=config.run.workspace_mb * 1_000_000)
    local = Redacting(LocalExecutor(place.workspaces, harmless, limits), place.hide)
    if wish == "local":
        return local, ()
    if wish == "auto" and player is not None and player.networked:
        return local, (Degraded(role, f"{_OWN}{ISOLATE}" if of_user(player) else _NETWORKED),)
    attempted = role == "target" and load_benchmark(config.env.name).runs_programs
    needed = attempted or (player is not None and player.runs_programs)
    support = sandbox_on(place.environment)
    if not support.refusal:
        access = FileAccess(
            frozenset(_absolute(path, place) for path in config.run.readable.split(":") if path),
            frozenset(path.resolve() for path in _private(config, place.folder)),
        )
        weaker = tuple(
            Degraded(role, f"the sandbox of its programs has no {part}: {reason}")
            for part, reason in support.lacking
        )
        isolated = SandboxExecutor(place.workspaces, harmless, limits, access, support.wrapper)
        return Redacting(isolated, place.hide), weaker if needed else ()
    if wish == "namespace":
        raise ConfigError(
            f"`run.executor` is `namespace`, which this machine cannot do: {support.refusal}",
            "install bubblewrap and allow user namespaces, or do without by `run.executor=local`",
        )
    exposed = f"its programs are not isolated and can read your files: {support.refusal}"
    return local, (Degraded(role, exposed),) if needed else ()


def of_user(player: BackendSpec) -> bool:
    """Whether the program of a backend is any that the user names, of which nothing is known."""
    return player.program is not None and not player.program.command


def sandbox_on(environment: Mapping[str, str]) -> SandboxSupport:
    """What sandbox this machine allows, found by a trial.

    Args:
        environment: variables by name, with the search path.
    """
    path = shutil.which(WRAPPER, path=environment.get("PATH"))
    if path is None:
        return SandboxSupport(f"bubblewrap (`{WRAPPER}`) is not installed")
    return sandbox_support(Bubblewrap(path))


def open_executors(
    config: RunConfig, place: ExecutorContext, players: Mapping[Role, BackendSpec]
) -> tuple[dict[Role, Executor], tuple[Degraded, ...]]:
    """The target's executor, and those of other roles that are played by programs.

    Raises:
        ConfigError: as `open_executor`.
    """
    found: dict[Role, Executor] = {}
    said: list[Degraded] = []
    for role, player in players.items():
        if role == "target" or player.program_chat is not None:
            found[role], weaker = open_executor(config, place, player, role)
            # Of a cluster's nodes, their workers tell.
            said += () if role == "target" and config.run.executor == "ray" else weaker
    return found, tuple(said)


@contextmanager
def passing_executor(
    config: RunConfig,
    environment: Mapping[str, str],
    player: BackendSpec | None = None,
    role: Role = "target",
) -> Iterator[Executor]:
    """The executor of something that is no run and leaves nothing behind.

    Raises:
        ConfigError: as `open_executor`.
    """
    with TemporaryDirectory(prefix=temp_prefix()) as workspaces:
        hide = known_secrets(environment, config).hide
        place = ExecutorContext(Path(workspaces), Path(workspaces), environment, hide)
        yield open_executor(config, place, player, role)[0]


def clear_leftovers(root: Path) -> None:
    """Remove the temporary folders in `root` whose makers, killed, could not do that themselves.

    Only those of this user, and of processes that could be seen here if they still ran.
    """
    for folder in root.glob("skillopt-*"):
        pid = owner_pid(folder.name)
        # Another start may be removing it too.
        with suppress(OSError):
            mine = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if pid is not None and mine and not psutil.pid_exists(pid):
                remove_folder(folder)


def _absolute(path: str, place: ExecutorContext) -> Path:
    home = place.environment.get("HOME", "/")
    return Path(home, path[2:]) if path.startswith("~/") else Path(path)


def _private(config: RunConfig, folder: Path) -> Iterator[Path]:
    """What no program may read even where it lies in a folder of the system's: the answers."""
    env = config.env
    sample = load_benchmark(env.name).sample
    yield folder
    yield from (sample,) if sample is not None else ()
    yield from (Path(skillopt_cli.__file__).parent, Path(".env"))
    named = (env.out_root, env.data_root, *env.tasks_from, config.run.cache_dir)
    yield from (Path(name) for name in named if name and not is_address(name))
