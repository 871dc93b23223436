"""Agent programs as backends: where they are found, and the model behind them.

That model is reached through our relay, or it is the program's own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from skillopt_cli.backends.agents.cli_agent import CliAgent
from skillopt_cli.backends.agents.cli_chat import CliChat
from skillopt_cli.backends.agents.model_api import ModelApi
from skillopt_cli.backends.agents.program import AGENT_OFFERS, Program
from skillopt_cli.backends.agents.upstream import open_upstream
from skillopt_cli.core.errors import BackendUnusable
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage
from skillopt_cli.executors.workspaces import temp_prefix
from skillopt_cli.ports import BackendSpec, Need, ProgramSource, RoleSettings

MakeProgram = Callable[[RoleSettings], Program]
"""Returns the program of a role; raises `BackendUnusable` if it is not installed or configured."""
UNUSED = frozenset(("base_url", "temperature", "max_completion_tokens", "timeout"))
"""Settings of a role that a program with its own model cannot use."""
_VERSION_SECONDS = 30.0


def find(source: ProgramSource, path: str, environment: Mapping[str, str]) -> Path:
    """Return the program: from setting, else variables, else search path, else bundled.

    Args:
        path: the setting's value; "" for none. A name without a folder is searched on PATH.

    Raises:
        BackendUnusable: it is not installed, or not at the configured path.
    """
    search = environment.get("PATH", os.defpath)
    configured = [(source.setting, path)]
    configured += [(name, environment.get(name, "").strip()) for name in source.variables]
    for setting, value in configured:
        if value:
            named = str(Path(value).expanduser()) if value.startswith("~") else value
            found = shutil.which(named, path=search)
            if found is None:
                raise BackendUnusable(
                    f"there is no program `{value}`, which {setting} names", source.install
                )
            return Path(found).absolute()
    if found := shutil.which(source.command, path=search):
        return Path(found).absolute()
    bundled = source.bundled()
    if bundled is None:
        raise BackendUnusable(f"the program `{source.command}` is not installed", source.install)
    return bundled


def version_of(binary: Path, environment: Mapping[str, str]) -> str:
    """Return the first line of a program's `--version`.

    Raises:
        BackendUnusable: it cannot be run.
    """
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as home:
        own = {"PATH": environment.get("PATH", os.defpath), "HOME": home, "TMPDIR": home}
        try:
            done = subprocess.run(
                [str(binary), "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_VERSION_SECONDS,
                check=True,
                env=own,
                cwd=home,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise BackendUnusable(
                f"`{binary} --version` fails: {error}", "check that the program is complete"
            ) from error
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    return lines[0] if lines else ""


def locate(source: ProgramSource, path: str, environment: Mapping[str, str]) -> tuple[Path, str]:
    """Return a program's path and version; raises as `find` and `version_of`."""
    binary = find(source, path, environment)
    return binary, version_of(binary, environment)


def first_of(variables: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the first non-empty value of some variables; "" if all are empty."""
    return next((v for name in variables if (v := environment.get(name, "").strip())), "")


class BuiltinModel:
    """The `ChatBackend` of a program that brings its own model: each run of it is one empty call.

    It makes caps, rate limits and the stop gate apply to runs of the program. Their cost is
    unknown.
    """

    offers: frozenset[str] = frozenset()

    def __init__(self, name: str, fingerprint: str) -> None:
        self.name = name
        self.fingerprint = fingerprint

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return an empty reply at once."""
        return ChatReply("", Usage(1))


def with_relayed_model(
    spec: BackendSpec, make: MakeProgram, api: ModelApi, url: str
) -> BackendSpec:
    """Return the spec of a program whose model requests pass our relay, in every role.

    Args:
        url: the model service's address when the role names none.
    """
    return replace(
        spec,
        address=lambda settings: url,
        open=lambda role: open_upstream(role, api, url),
        agent=lambda chat, role: CliAgent(chat, make(role)),
        program_chat=lambda inner, role, executor: CliChat(inner, make(role), executor),
        offers=AGENT_OFFERS,
        runs_programs=True,
    )


def with_own_model(spec: BackendSpec, make: MakeProgram) -> BackendSpec:
    """Return the spec of a program that brings its own model and needs the network for it."""

    def open_builtin(role: RoleSettings) -> BuiltinModel:
        make(role)
        return BuiltinModel(role.model or spec.name, spec.name)

    return replace(
        spec,
        open=open_builtin,
        agent=lambda chat, role: CliAgent(chat, make(role)),
        runs_programs=True,
        networked=True,
    )


def key_of(role: RoleSettings) -> str:
    """Return the key that a program signs in with.

    Raises:
        BackendUnusable: there is none.
    """
    if role.api_key is None:
        raise BackendUnusable(
            f"no key is given for the {role.role}",
            "name the variable that holds it in api_key_env",
        )
    return role.api_key.get_secret_value()


def key_needed(variable: str) -> Need:
    """Return the need of a program that signs in with a key."""
    return Need(("api_key_env",), "no key is given for the {role}", f"set {variable}")


def missing_part(source: ProgramSource, keys: Sequence[str]) -> Callable[[Mapping[str, str]], str]:
    """Return a check for the program and one of its keys; it returns "" when both are there.

    Args:
        keys: variables that may hold the key; the message names the first one. `{ROLE}` in a name
            acts as the target.
    """
    names = [key.format(ROLE="TARGET") for key in keys]

    def check(environment: Mapping[str, str]) -> str:
        try:
            find(source, "", environment)
        except BackendUnusable as error:
            return error.message
        return "" if first_of(names, environment) else f"{names[0]} is not set"

    return check
