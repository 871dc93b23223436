"""The one place that reads the environment: the process's own over a `.env` file beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Literal

from dotenv import dotenv_values

from skillopt_cli.core.errors import ConfigError
from skillopt_cli.safe_files import MOST_SETTINGS, read_text

_LEFT_OUT = frozenset({
    "PATH",
    "HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
})
"""Never taken from the file: programs found by their name, and the folders of the user."""
_XDG = {"config": ".config", "state": ".local/state"}


@dataclass(frozen=True, slots=True, eq=False)
class Environment(Mapping[str, str]):
    """Variables by name.

    Attributes:
        file: the `.env` file, whether or not there is one.
        written: the variables whose value that file gives.
    """

    values_by_name: Mapping[str, str]
    file: Path
    written: frozenset[str]

    def __getitem__(self, name: str) -> str:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)


def file_of(environment: Mapping[str, str], name: str) -> Path | None:
    """The `.env` file that gives a variable its value; None where the process has it."""
    if isinstance(environment, Environment) and name in environment.written:
        return environment.file
    return None


def read_environment(folder: Path | None = None) -> Environment:
    """Variables by name. `.env` of `folder` (the working directory) fills gaps only.

    Empty variables count as unset everywhere, so they are left out.

    Raises:
        ConfigError: `.env` cannot be read.
    """
    path = (folder or Path.cwd()) / ".env"
    own = {name: value for name, value in os.environ.items() if value}
    found = {
        name: value
        for name, value in _written(path).items()
        if value and name not in own and name not in _LEFT_OUT
    }
    return Environment({**found, **own}, path, frozenset(found))


def user_folder(kind: Literal["config", "state"]) -> Path | None:
    """The user's folder for the configuration or the state of this program, by the XDG rules.

    Only the process's own variables count: a `.env` file must not name a folder that is trusted.
    None where the user has no home.
    """
    named = Path(os.environ.get(f"XDG_{kind.upper()}_HOME", ""))
    if named.is_absolute():
        return named / "skillopt"
    try:
        return Path.home() / _XDG[kind] / "skillopt"
    except RuntimeError:
        return None


def _written(path: Path) -> Mapping[str, str | None]:
    # Some keep a virtual environment in a folder of this name.
    if not path.exists() or path.is_dir():
        return {}
    try:
        return dotenv_values(stream=StringIO(read_text(path, MOST_SETTINGS)))
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}", "correct it, or remove it"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(
            f"cannot read {path}: it is not UTF-8 text", "save it as UTF-8 text"
        ) from None


def process_environment() -> dict[str, str]:
    """The variables of this process alone: `.env` may be that of a folder somebody sent."""
    return dict(os.environ)
