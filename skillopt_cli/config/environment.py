"""The one place that reads the environment: the process's own over a `.env` file beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dotenv import dotenv_values

from skillopt_cli.core.errors import ConfigError


def read_environment(folder: Path | None = None) -> Mapping[str, str]:
    """Variables by name. `.env` of `folder` (the working directory) fills gaps only.

    Empty variables count as unset everywhere, so they are left out.

    Raises:
        ConfigError: `.env` cannot be read.
    """
    path = (folder or Path.cwd()) / ".env"
    try:
        written = dotenv_values(path, encoding="utf-8-sig") if path.is_file() else {}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", "mend its permissions") from None
    except UnicodeDecodeError:
        raise ConfigError(
            f"cannot read {path}: it is not UTF-8 text", "save it anew as UTF-8 text"
        ) from None
    merged = {**written, **{k: v for k, v in os.environ.items() if v}}
    return {name: value for name, value in merged.items() if value}
