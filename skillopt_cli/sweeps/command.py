"""The command that continues a sweep."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.declarations import flag_of
from skillopt_cli.core.errors import UsageError
from skillopt_cli.safe_files import read_regular
from skillopt_cli.sweeps.trials import HOME, RESULT

LARGEST = 20_000_000
"""Bytes of a sweep's result."""


def sweep_command(grid: Path, overrides: Overrides, jobs: int = 1) -> str:
    """The command line that started a sweep, which also continues it; quoted for a shell.

    Args:
        grid: its file, as it was named.
        overrides: those of the command line.
        jobs: runs at the same time.
    """
    return shlex.join(["skillopt", "sweep", str(grid), *_words(overrides, jobs)])


def _words(overrides: Overrides, jobs: int) -> Iterator[str]:
    if jobs > 1:
        yield from ("--jobs", str(jobs))
    if overrides.preset:
        yield from ("--preset", overrides.preset)
    if overrides.config:
        yield from ("--config", str(overrides.config))
    for key, value in overrides.flags.items():
        flag = flag_of(key)
        for each in value if isinstance(value, list | tuple) else (value,):
            yield from _flag(flag, each) if flag else ("--set", f"{key}={each}")
    for flag, value in overrides.backend_flags.items():
        yield from _flag(flag, value)
    for text in overrides.assignments:
        yield from ("--set", text)
    if overrides.trust:
        yield "--trust"


def _flag(flag: str, value: object) -> tuple[str, ...]:
    return (flag,) if value is True else (flag, str(value))


def refuse_sweep(name: str, out_root: Path) -> None:
    """Refuse the name of a sweep where a run is to be continued.

    Args:
        name: as it was given: a name, or the path of the sweep's folder.

    Raises:
        UsageError: it is that of a sweep.
    """
    places = (out_root / HOME / name, Path(name))
    home = next((one for one in places if one.parent.name == HOME and one.is_dir()), None)
    if home is None:
        return
    command = _command_in(home / RESULT)
    began = f"`{command}`" if command else "the `skillopt sweep` command that began it"
    raise UsageError(f"`{name}` is a sweep and no run", f"{began} continues it")


def _command_in(result: Path) -> str:
    """The command that a sweep's result names; empty where it names none or cannot be read."""
    try:
        return str(json.loads(read_regular(result, LARGEST))["command"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""
