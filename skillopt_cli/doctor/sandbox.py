"""Check of the isolation of programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from skillopt_cli.compose.executors import (
    ISOLATE,
    ExecutorContext,
    of_user,
    open_executors,
    sandbox_on,
)
from skillopt_cli.config import RunConfig
from skillopt_cli.core.events import Degraded, Role
from skillopt_cli.doctor.check import Check, passed, warning
from skillopt_cli.executors.sandbox_trial import KEYRING, SECCOMP, SandboxSupport
from skillopt_cli.ports import BackendSpec, Executor

NAME = "sandbox"
_INSTALL = "install bubblewrap and allow user namespaces, or accept it by `run.executor=local`"
_ACCEPT = "accept it by `run.executor=local`, or choose another backend"
_CHOOSE = "set `run.executor=namespace` if the program needs no network, else `run.executor=local`"
_UPDATE = "update bubblewrap and the system, or use another machine"


def check_sandbox(
    config: RunConfig, environment: Mapping[str, str], players: Mapping[Role, BackendSpec]
) -> Iterator[Check]:
    """The programs of a run are isolated, with every part that a sandbox can have.

    Args:
        players: the backends of the roles.

    Raises:
        ConfigError: namespaces are asked for, and this machine has none.
    """
    executors: dict[Role, Executor] = {}
    weaker: tuple[Degraded, ...] = ()
    if config.env.name:
        nowhere = ExecutorContext(Path(), Path(), environment)
        executors, weaker = open_executors(config, nowhere, players)
    for role, executor in executors.items():
        for one in weaker:
            if one.where == role:
                fix = _UPDATE if executor.isolates else _remedy(players[role])
                yield warning(NAME, f"{role}: {one.reason.removesuffix(ISOLATE)}", fix)
    if not weaker:
        local = config.run.executor == "local"
        yield passed(NAME, "off by `run.executor`" if local else active(sandbox_on(environment)))


def _remedy(player: BackendSpec) -> str:
    if player.networked:
        return _CHOOSE if of_user(player) else _ACCEPT
    return _INSTALL


def active(support: SandboxSupport) -> str:
    """The parts of a sandbox that are active, and those that are not."""
    if support.refusal:
        return f"none, which nothing here needs: {support.refusal}"
    lacking = dict(support.lacking)
    found = ["namespace", *(part for part in (SECCOMP, KEYRING) if part not in lacking)]
    without = "".join(f"; no {part}: {reason}" for part, reason in lacking.items())
    return ", ".join(found) + without
