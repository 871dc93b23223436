"""Where an agent's program is, and which version of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.core.errors import BackendUnusable
from skillopt_cli.core.temporary import own_prefix

_VERSION_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Sought:
    """A program to be found.

    Attributes:
        setting: the key of the configuration that may hold its path.
        variables: those that may, strongest first.
        command: its name on the search path.
        bundled: its path in a Python package; None where that is not installed.
        install: how to get it.
    """

    setting: str
    variables: tuple[str, ...]
    command: str
    bundled: Callable[[], Path | None]
    install: str


def find(sought: Sought, path: str, environment: Mapping[str, str]) -> Path:
    """The program: where the setting says, else a variable, else on the search path, else bundled.

    Args:
        path: the setting's value; "" for none. A name without a folder is looked for.

    Raises:
        BackendUnusable: it is nowhere, or not where it is said to be.
    """
    search = environment.get("PATH", os.defpath)
    said = [(sought.setting, path)]
    said += [(name, environment.get(name, "").strip()) for name in sought.variables]
    for source, value in said:
        if value:
            named = str(Path(value).expanduser()) if value.startswith("~") else value
            found = shutil.which(named, path=search)
            if found is None:
                raise BackendUnusable(
                    f"there is no program `{value}`, which {source} names", sought.install
                )
            return Path(found).absolute()
    if found := shutil.which(sought.command, path=search):
        return Path(found).absolute()
    bundled = sought.bundled()
    if bundled is None:
        raise BackendUnusable(f"the program `{sought.command}` is not installed", sought.install)
    return bundled


def version_of(binary: Path, environment: Mapping[str, str]) -> str:
    """What a program calls its version.

    Raises:
        BackendUnusable: it cannot be run.
    """
    with tempfile.TemporaryDirectory(prefix=own_prefix()) as home:
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
                f"`{binary} --version` fails: {error}", "check that the program is whole"
            ) from error
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    return lines[0] if lines else ""


def fingerprint(name: str, version: str, settings: Mapping[str, object]) -> str:
    """A program and its settings as one line."""
    return json.dumps({"agent": name, "version": version, **settings}, sort_keys=True)


def first_of(variables: Sequence[str], environment: Mapping[str, str]) -> str:
    """The first variable's value that is not empty; "" when all are."""
    return next((v for name in variables if (v := environment.get(name, "").strip())), "")
